package limiter_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"golang.org/x/time/rate"
)

// A thousand certificates are checked once an hour, but not all at one moment.
func ExampleJitter() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[int]{Clock: fake})
	for certificate := range 1000 {
		queue.AddAfter(certificate, limiter.Jitter(time.Hour, 0.1))
	}
	fake.Step(time.Hour)
	fmt.Println("after an hour, many are ready:", queue.Len() > 100)
	fake.Step(3 * time.Minute)
	fmt.Println("after three minutes more, half of them are:", queue.Len() > 300 && queue.Len() < 700)
	fake.Step(3*time.Minute + time.Millisecond)
	fmt.Println("after six, all are:", queue.Len() == 1000)
	// Output:
	// after an hour, many are ready: false
	// after three minutes more, half of them are: true
	// after six, all are: true
}

// An item that fails waits twice as long each time, until Forget. The type of the
// items must be named, because no argument has it.
func ExampleNewExponential() {
	l := limiter.NewExponential[string](5*time.Millisecond, time.Second)
	for range 4 {
		fmt.Println(l.When("default/web"))
	}
	fmt.Println(l.NumRequeues("default/web"), "failures")
	// Output:
	// 5ms
	// 10ms
	// 20ms
	// 40ms
	// 4 failures
}

// Jitter spreads items that fail together.
func ExampleNewItemBackoff() {
	l := limiter.NewItemBackoff[string](limiter.Backoff{
		Duration: time.Second, Factor: 2, Jitter: 0.5, Cap: time.Minute,
	}, limiter.Options{
		Random: func() float64 { return 0.5 }, // for this example: by default, it is random
	})
	for range 3 {
		fmt.Println(l.When("hook/7"))
	}
	l.Forget("hook/7") // it has succeeded
	fmt.Println(l.When("hook/7"))
	// Output:
	// 1.25s
	// 2.5s
	// 5s
	// 1.25s
}

// The retries of all items share a token bucket, and each item has its own
// backoff. The longer delay counts.
func ExampleNewMaxOf() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it stands still
	l := limiter.NewMaxOf(
		limiter.NewExponential[string](50*time.Millisecond, time.Minute),
		limiter.NewBucket[string](rate.NewLimiter(10, 1), limiter.Options{Clock: fake}),
	)
	for _, item := range []string{"a", "b", "c"} {
		fmt.Println(item, l.When(item))
	}
	// Output:
	// a 50ms
	// b 100ms
	// c 200ms
}
