package coalesce_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// Three views of a page become one value. When its write fails, the value goes
// back, and is written together with a later view.
func ExampleCoalescer_Run() {
	ctx := context.Background()
	views := coalesce.MustNew(coalesce.Options[string, int]{
		Merge:    func(pending, next int) int { return pending + next },
		Capacity: 10_000, // keys with a pending value
	})
	for range 3 {
		if err := views.PutContext(ctx, "home", 1, coalesce.PutOptions{}); err != nil {
			log.Fatal(err)
		}
	}

	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	failures := 1
	err := views.Run(ctx, 1, func(ctx context.Context, page string, count int) error {
		if failures > 0 {
			failures--
			_ = views.Put(page, 1) // another view, during the write
			return errors.New("the database is busy")
		}
		fmt.Println(page, "has", count, "more")
		stop() // for this example: a signal does the same
		return nil
	})
	if err != nil {
		log.Fatal(err) // fewer than 1 worker, or no handler
	}
	// Output: home has 4 more
}

// A worker.Pool adds batches, a limit of attempts, and a drain. A hook gets each
// value that was not written, and no other goroutine has it then.
func Example_pool() {
	counts := coalesce.MustNew(coalesce.Options[string, int]{
		Queue: shardq.Options[string]{Shards: 1},
		Merge: func(pending, next int) int { return pending + next },
	})
	type row = coalesce.Entry[string, int]
	write := func(ctx context.Context, rows []row) []error {
		errs := make([]error, len(rows))
		for i, r := range rows {
			switch r.Key {
			case "gone":
				errs[i] = worker.Permanent(errors.New("no such page"))
			case "locked":
				errs[i] = worker.RequeueAfter(time.Hour)
			default:
				fmt.Println("written:", r.Key, r.Value)
			}
		}
		return errs
	}
	pool, err := worker.New(counts, worker.Options[row]{
		Workers:     1,
		HandleBatch: write, BatchSize: 100,
		MaxAttempts: 5,
		OnDiscard: func(_ context.Context, f worker.Failure[row]) {
			fmt.Printf("discarded: %s %d: %v\n", f.Item.Key, f.Item.Value, f.Err)
		},
		OnLeftover: func(_ context.Context, f worker.Failure[row]) {
			fmt.Printf("kept: %s %d: %v\n", f.Item.Key, f.Item.Value, f.Err)
		},
		Drain:        counts.DrainWith(shardq.DrainOptions{Delayed: shardq.DropDelayed}),
		DrainTimeout: time.Minute,
	})
	if err != nil {
		panic(err)
	}
	for _, page := range []string{"home", "locked", "home", "gone", "about"} {
		_ = counts.Put(page, 1)
	}
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	fmt.Println(pool.Run(ctx))
	// Output:
	// written: home 2
	// written: about 1
	// discarded: gone 1: no such page
	// kept: locked 1: shardq: queue is shut down: dropped while it was delayed
	// <nil>
}

// Drain returns the values that are in a backoff when the program ends, so that
// they can be kept elsewhere.
func ExampleCoalescer_Drain() {
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Merge: func(pending, next int) int { return pending + next },
	})
	ctx := context.Background()
	_ = c.Put("orders", 7)
	key, value, _ := c.Take(ctx)
	_ = c.Retry(key, value)

	left, err := c.Drain(ctx, shardq.DrainOptions{Delayed: shardq.DropDelayed})
	fmt.Println(left, err)
	// Output: [{orders 7}] <nil>
}
