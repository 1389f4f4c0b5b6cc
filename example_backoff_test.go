package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
)

// A controller writes why an object failed into its status, and watches the
// object: each failure adds the object again.
func ExampleOptions_keepBackoff() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{
		Clock:       fake,
		RateLimiter: limiter.NewExponential[string](time.Second, time.Minute),
		KeepBackoff: true,
	})
	queue.Add("object")
	for range 8 {
		if claim, ok := queue.TryClaim(); ok {
			fmt.Println("attempt at", fake.Now().Sub(time.Unix(0, 0)))
			queue.Add("object") // the event of the status update
			_ = claim.Retry()
		}
		queue.Add("object") // another event
		fake.Step(time.Second)
	}
	// Output:
	// attempt at 0s
	// attempt at 1s
	// attempt at 3s
	// attempt at 7s
}
