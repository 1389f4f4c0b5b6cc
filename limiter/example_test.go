package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
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

// An item that fails waits twice as long each time, until Forget.
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

// A client keeps a connection open, and backs off while the server is away.
func ExampleLoop() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	refused := errors.New("refused")
	answers := []error{refused, refused, nil, refused}
	m := limiter.NewManager(limiter.Backoff{Duration: time.Millisecond, Factor: 2, Cap: time.Second})
	limiter.Loop(ctx, m, limiter.FromEnd, func(ctx context.Context) {
		fmt.Println(answers[0])
		if answers[0] == nil {
			m.Reset() // the next failure counts as the first
		}
		if answers = answers[1:]; len(answers) == 0 {
			cancel()
		}
	})
	// Output:
	// refused
	// refused
	// <nil>
	// refused
}
