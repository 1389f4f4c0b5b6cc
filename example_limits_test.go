package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"golang.org/x/time/rate"
)

// Each item has its own backoff, and all items together have a bucket of
// retries. The longer delay counts.
func Example_rateLimits() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{
		Clock: fake,
		RateLimiter: limiter.NewMaxOf(
			limiter.NewExponential[string](50*time.Millisecond, time.Minute),
			limiter.NewBucket[string](rate.NewLimiter(10, 1), limiter.Options{Clock: fake}),
		),
	})
	fail := func(item string) {
		queue.AddRateLimited(item)
		for _, delayed := range queue.Snapshot(10).Delayed {
			if delayed.Item == item {
				fmt.Println(item, "runs again after", delayed.Deadline.Sub(fake.Now()))
			}
		}
	}
	fail("a") // its own backoff: the bucket has a token
	fail("b") // the bucket's next token
	fail("c")

	fake.Step(time.Second) // all are ready, and the bucket is full again
	for queue.Len() > 0 {
		item, _ := queue.Get()
		queue.Done(item) // without Forget, its failure still counts
	}
	fail("a") // its second failure
	// Output:
	// a runs again after 50ms
	// b runs again after 100ms
	// c runs again after 200ms
	// a runs again after 100ms
}
