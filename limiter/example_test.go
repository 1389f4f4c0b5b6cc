package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"golang.org/x/time/rate"
)

// An item that fails waits twice as long each time. After a Forget it begins
// again.
func ExampleNewExponential() {
	l := limiter.NewExponential[string](5*time.Millisecond, time.Second)
	for range 4 {
		fmt.Println(l.When("default/web"))
	}
	fmt.Println(l.NumRequeues("default/web"), "failures")

	l.Forget("default/web")
	fmt.Println(l.When("default/web"))
	// Output:
	// 5ms
	// 10ms
	// 20ms
	// 40ms
	// 4 failures
	// 5ms
}

func ExampleNewFastSlow() {
	l := limiter.NewFastSlow[string](5*time.Millisecond, 10*time.Second, 3)
	for range 5 {
		fmt.Println(l.When("default/web"))
	}
	// Output:
	// 5ms
	// 5ms
	// 5ms
	// 10s
	// 10s
}

// The bucket holds two tokens and earns ten per second. So the third failure
// waits, whichever items fail.
func ExampleNewBucket() {
	fixed := clock.NewFake(time.Now()) // so that no time passes in this example
	l := limiter.NewBucket[string](rate.NewLimiter(10, 2), limiter.Options{Clock: fixed})
	for _, item := range []string{"a", "b", "c", "d"} {
		fmt.Println(item, l.When(item))
	}
	// Output:
	// a 0s
	// b 0s
	// c 100ms
	// d 200ms
}

// Each item has a backoff with jitter. The random source is fixed at one half
// here.
func ExampleNewItemBackoff() {
	l := limiter.NewItemBackoff[string](limiter.Backoff{
		Duration: 100 * time.Millisecond,
		Factor:   2,
		Jitter:   0.5, // lengthens each delay by up to half
		Steps:    10,
		Cap:      time.Second,
	}, limiter.Options{Random: func() float64 { return 0.5 }})
	for range 5 {
		fmt.Println(l.When("default/web").Round(time.Millisecond))
	}
	// Output:
	// 125ms
	// 250ms
	// 500ms
	// 833ms
	// 833ms
}

func ExampleNewMaxOf() {
	l := limiter.NewMaxOf(
		limiter.NewExponential[string](time.Millisecond, time.Second),
		limiter.NewFastSlow[string](5*time.Millisecond, time.Minute, 4),
	)
	for range 5 {
		fmt.Println(l.When("default/web"))
	}
	// Output:
	// 5ms
	// 5ms
	// 5ms
	// 8ms
	// 1m0s
}

func ExampleNewWithMaxWait() {
	l := limiter.NewWithMaxWait(limiter.DefaultItemBased[string](), 3*time.Millisecond)
	for range 4 {
		fmt.Println(l.When("default/web"))
	}
	// Output:
	// 1ms
	// 2ms
	// 3ms
	// 3ms
}

// A burst of a hundred failures passes without a delay from the bucket. After
// it, ten per second pass, whichever items fail.
func ExampleDefaultController() {
	fixed := clock.NewFake(time.Now())
	l := limiter.DefaultController[int](limiter.Options{Clock: fixed})
	for i := range 100 {
		l.When(i)
	}
	fmt.Println(l.When(100))
	fmt.Println(l.When(101))
	// Output:
	// 100ms
	// 200ms
}

func ExampleDefaultItemBased() {
	l := limiter.DefaultItemBased[string]()
	for range 3 {
		fmt.Println(l.When("default/web"))
	}
	// Output:
	// 1ms
	// 2ms
	// 4ms
}

// The histories of items that vanish without a Forget expire.
func ExampleOptions_forgetAfter() {
	fake := clock.NewFake(time.Now())
	l := limiter.NewExponential[string](time.Second, time.Hour,
		limiter.Options{Clock: fake, ForgetAfter: 10 * time.Minute})
	fmt.Println(l.When("default/web"), l.When("default/web"))

	fake.Step(10 * time.Minute) // the delay of 2 s comes first
	fmt.Println(l.NumRequeues("default/web"), "failures")
	fake.Step(2 * time.Second)
	fmt.Println(l.NumRequeues("default/web"), "failures")
	// Output:
	// 1s 2s
	// 2 failures
	// 0 failures
}

func ExampleBackoff_Step() {
	b := limiter.Backoff{Duration: time.Second, Factor: 2, Steps: 10, Cap: 5 * time.Second}
	for range 5 {
		fmt.Println(b.Step())
	}
	// Output:
	// 1s
	// 2s
	// 4s
	// 5s
	// 5s
}

func ExampleBackoff_StepWith() {
	b := limiter.Backoff{Duration: time.Second, Factor: 2, Steps: 2, Jitter: 1}
	quarter := func() float64 { return 0.25 }
	for range 4 {
		fmt.Println(b.StepWith(quarter))
	}
	// Output:
	// 1.25s
	// 2.5s
	// 5s
	// 5s
}

// After a quiet period of two minutes, the next delay is the initial one.
func ExampleNewManager() {
	fake := clock.NewFake(time.Now())
	m := limiter.NewManager(
		limiter.Backoff{Duration: time.Second, Factor: 2, Steps: 10, Cap: 30 * time.Second},
		limiter.Options{Clock: fake, ForgetAfter: 2 * time.Minute},
	)
	fmt.Println(m.Step(), m.Step(), m.Step())

	fake.Step(4*time.Second + 2*time.Minute)
	fmt.Println(m.Step())
	// Output:
	// 1s 2s 4s
	// 1s
}

func ExampleManager_Reset() {
	m := limiter.NewManager(limiter.Backoff{Duration: time.Second, Factor: 2, Steps: 10})
	fmt.Println(m.Step(), m.Step(), m.Step())
	m.Reset()
	fmt.Println(m.Step())
	// Output:
	// 1s 2s 4s
	// 1s
}

// A client keeps a connection open, and backs off while the server is away.
func ExampleLoop() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	answers := []error{errors.New("refused"), errors.New("refused"), nil, errors.New("reset"), nil}
	m := limiter.NewManager(limiter.Backoff{Duration: time.Millisecond, Factor: 2, Steps: 10})
	limiter.Loop(ctx, m, limiter.FromEnd, func(ctx context.Context) {
		err := answers[0]
		answers = answers[1:]
		if err != nil {
			fmt.Println("failed:", err)
		} else {
			fmt.Println("connected")
			m.Reset() // the next failure counts as the first
		}
		if len(answers) == 0 {
			cancel()
		}
	})
	// Output:
	// failed: refused
	// failed: refused
	// connected
	// failed: reset
	// connected
}
