package shardq_test

import (
	"fmt"
	"math"

	"github.com/shardq/shardq"
)

// Calls that break the rules change nothing. The hook hears of them: log it, or fail
// the test that it happens in.
func Example_onMisuse() {
	q := shardq.Must(shardq.Options[float64]{
		Name: "prices",
		OnMisuse: func(m shardq.Misuse[float64]) {
			fmt.Printf("%s: %v: %v\n", m.Queue, m.Kind, m.Item)
		},
	})
	q.Add(1.5)
	item, _ := q.Get()
	q.Done(item)
	q.Done(item)      // once too often
	q.Add(math.NaN()) // could never be found again
	fmt.Println("counted:", q.Stats().Misused, q.Stats().Rejected)
	// Output:
	// prices: Done without Get: 1.5
	// prices: item not equal to itself: NaN
	// counted: 1 1
}
