package shardqtest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/shardqtest"
	"github.com/shardq/shardq/worker"
)

// In a test, t is its *testing.T. These programs have this one.
var t exampleT

type exampleT struct{}

func (exampleT) Helper() {}

func (exampleT) Fatalf(format string, arguments ...any) { log.Fatalf(format, arguments...) }

// A driver runs a handler until the queue is idle. Backoff takes no time.
func ExampleDrive() {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake, Shards: 1})
	refusals := 2
	deliver := func(ctx context.Context, hook string) error { // what the test is about
		if refusals > 0 {
			refusals--
			return errors.New("connection refused")
		}
		return nil
	}

	driver := shardqtest.Drive(t, queue, fake, worker.Options[string]{Handle: deliver, MaxAttempts: 5})
	queue.Add("web")
	queue.AddAfter("mail", time.Hour)
	for _, attempt := range driver.RunUntilIdle() {
		fmt.Println(attempt)
	}
	// Output:
	// web: attempt 1: failed: connection refused: again in 5ms
	// web: attempt 2: failed: connection refused: again in 10ms
	// web: attempt 3: succeeded
	// mail: attempt 1: succeeded
}

// A test goes from item to item, and from deadline to deadline.
func ExampleDriver_Step() {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake, Shards: 1})
	poll := func(ctx context.Context, feed string) error { return worker.RequeueAfter(10 * time.Minute) }

	driver := shardqtest.Drive(t, queue, fake, worker.Options[string]{Handle: poll})
	queue.Add("news")
	fmt.Println(driver.Step())
	fmt.Println(driver.Step())
	fmt.Println(driver.AdvanceToNext())
	fmt.Println(driver.Step())
	// Output:
	// news: attempt 1: requeued: again in 10m0s true
	// : attempt 0: succeeded false
	// 10m0s true
	// news: attempt 1: requeued: again in 10m0s true
}

// A script decides how the handler fails.
func ExampleScript() {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake, Shards: 1})
	script := shardqtest.NewScript(func(ctx context.Context, item string) error { return nil })
	script.For("a").Fail(1).Panic("out of range")
	script.For("b").Return(worker.Permanent(errors.New("no such account")))

	driver := shardqtest.Drive(t, queue, fake, worker.Options[string]{Handle: script.Handle})
	queue.AddBatch([]string{"a", "b"}, shardq.AddOptions{})
	for _, attempt := range driver.RunUntilIdle() {
		fmt.Println(attempt)
	}
	script.RequirePlayed(t)
	// Output:
	// a: attempt 1: failed: scripted failure 1: again in 5ms
	// b: attempt 1: discarded: no such account
	// a: attempt 2: failed: panic: out of range: again in 10ms
	// a: attempt 3: succeeded
}

// A test says what the code under test must have added.
func ExampleRequireQueued() {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake})
	order := func(id string) { // what the test is about
		queue.AddWith("invoice/"+id, shardq.AddOptions{Priority: 10})
		queue.AddAfter("reminder/"+id, 14*24*time.Hour)
	}

	order("17")
	found := shardqtest.RequireQueued(t, queue, "invoice/17")
	shardqtest.RequireDelayed(t, queue, "reminder/17", 14*24*time.Hour)
	fmt.Println("priority:", found.Priority)
	// Output: priority: 10
}
