package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq"
)

// The simple form: what fails goes back, and comes again with what was put meanwhile.
func ExampleCoalescer_Run() {
	counts := shardq.MustCoalescer(shardq.CoalescerOptions[string, int]{
		Merge: func(pending, next int) int { return pending + next },
	})
	for _, page := range []string{"home", "home", "home"} {
		if err := counts.Put(page, 1); err != nil {
			fmt.Println(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	failures := 1
	err := counts.Run(ctx, 1, func(ctx context.Context, page string, views int) error {
		if failures > 0 {
			failures--
			_ = counts.Put(page, 1) // somebody looks at it just now
			return errors.New("the database is busy")
		}
		fmt.Println(page, views)
		stop()
		return nil
	})
	fmt.Println(err)
	// Output:
	// home 4
	// <nil>
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
