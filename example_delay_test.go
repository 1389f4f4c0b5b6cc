package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
)

// A worker puts its item off: it looks again after a while. Whatever else adds the
// item meanwhile brings it back sooner.
func Example_delayedRequeue() {
	q := shardq.Must(shardq.Options[string]{})
	const interval = 2 * time.Millisecond

	q.Add("certificate")
	start := time.Now()
	for look := range 3 {
		item, _ := q.Get()
		fmt.Printf("look %d, too early: %t\n", look, time.Since(start) < time.Duration(look)*interval)
		q.AddAfter(item, interval)
		q.Done(item)
	}
	q.ShutDown() // drops what waits
	fmt.Println("waiting:", q.Stats().Waiting)
	// Output:
	// look 0, too early: false
	// look 1, too early: false
	// look 2, too early: false
	// waiting: 0
}
