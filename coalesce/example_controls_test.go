package coalesce_test

import (
	"context"
	"fmt"
	"time"

	"github.com/shardq/shardq/coalesce"
)

// An operator ends the linger of one key, so that its value is written at once,
// and drops the value of another. The live page does the same for its users.
func ExampleCoalescer_Inspect() {
	clicks := coalesce.MustNew(coalesce.Options[string, int]{
		Merge:  func(pending, next int) int { return pending + next },
		Linger: time.Hour, // one write for the clicks of an hour
	})
	for _, page := range []string{"home", "flood", "home", "flood"} {
		if err := clicks.Put(page, 1); err != nil {
			fmt.Println(err)
		}
	}

	operator := clicks.Inspect().Operator()
	fmt.Println("ended a delay:", operator.RetryNow("home"))
	fmt.Println("dropped a delayed value:", operator.Cancel("flood").Delayed)

	key, count, _ := clicks.Take(context.Background())
	fmt.Println(key, count)
	clicks.Done(key)
	fmt.Println("left:", clicks.Len())
	// Output:
	// ended a delay: true
	// dropped a delayed value: true
	// home 2
	// left: 0
}
