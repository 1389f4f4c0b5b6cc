package shardq_test

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
)

// Three views of a page become one value. A write that fails comes again,
// together with the view that came meanwhile.
func ExampleCoalescer_Run() {
	ctx := context.Background()
	views := shardq.MustCoalescer(shardq.CoalescerOptions[string, int]{
		Merge:    func(pending, next int) int { return pending + next },
		Capacity: 10_000, // keys with a pending value
	})
	for range 3 {
		if err := views.PutContext(ctx, "home", 1); err != nil {
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
			_ = views.Put(page, 1) // another view comes just now
			return errors.New("the database is busy")
		}
		fmt.Println(page, "has", count, "more")
		stop() // for this example: a signal does the same
		return nil
	})
	if err != nil {
		log.Fatal(err) // the arguments make no sense
	}
	// Output: home has 4 more
}

// The full form: batches, an end of all attempts, and a drain. OnGiveUp has the values that were
// not written, and nobody else has them.
func ExampleNewCoalescerWorkers() {
	counts := shardq.MustCoalescer(shardq.CoalescerOptions[string, int]{
		Queue: shardq.Options[string]{Shards: 1},
		Merge: func(pending, next int) int { return pending + next },
	})
	type row = shardq.Pending[string, int]
	write := func(ctx context.Context, rows []row) []error {
		errs := make([]error, len(rows))
		for i, r := range rows {
			switch r.Key {
			case "":
				errs[i] = shardq.Permanent(errors.New("no name"))
			case "locked":
				errs[i] = shardq.RequeueAfter(time.Hour)
			default:
				fmt.Println("written:", r.Key, r.Value)
			}
		}
		return errs
	}
	workers, err := shardq.NewCoalescerWorkers(counts, shardq.WorkerOptions[row]{
		Workers:     1,
		HandleBatch: write, BatchSize: 100,
		MaxAttempts: 5,
		OnGiveUp: func(f shardq.Failure[row]) {
			fmt.Printf("not written: %q %d: %v\n", f.Item.Key, f.Item.Value, f.Err)
		},
		Drain:        &shardq.DrainOptions{Waiting: shardq.DropWaiting},
		DrainTimeout: time.Minute,
	})
	if err != nil {
		panic(err)
	}
	for _, page := range []string{"home", "locked", "home", "", "about"} {
		_ = counts.Put(page, 1)
	}
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	fmt.Println(workers.Run(ctx))
	// Output:
	// written: home 2
	// written: about 1
	// not written: "" 1: no name
	// not written: "locked" 1: shardq: queue is shut down: dropped while it waited for its delay
	// <nil>
}
