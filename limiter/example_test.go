package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq/limiter"
)

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
