package coalesce_test

import (
	"context"
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
)

// An operator ends the linger of one key, so that its value is written at once,
// and drops the value of another. The live page does the same for its users if
// it gets the Controls and not the view.
func ExampleCoalescer_Controls() {
	clicks := coalesce.MustNew(coalesce.Options[string, int]{
		Merge:  func(pending, next int) int { return pending + next },
		Linger: time.Hour, // one write for the clicks of an hour
	})
	for _, page := range []string{"home", "flood", "home", "flood"} {
		if err := clicks.Put(page, 1); err != nil {
			fmt.Println(err)
		}
	}

	var page shardq.Inspector = clicks.Controls() // for debugpage.Options.Queues
	operator := clicks.Controls().Operator()
	fmt.Println("ended a delay:", operator.RetryNow("home"))
	fmt.Println("dropped a delayed value:", operator.Cancel("flood").Delayed)
	fmt.Println("recognized:", page == clicks.Controls())

	key, count, _ := clicks.Take(context.Background())
	fmt.Println(key, count)
	clicks.Done(key)
	fmt.Println("left:", clicks.Len())
	// Output:
	// ended a delay: true
	// dropped a delayed value: true
	// recognized: true
	// home 2
	// left: 0
}
