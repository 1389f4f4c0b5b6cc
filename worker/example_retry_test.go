package worker_test

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
	"github.com/shardq/shardq/worker"
)

// An item that fails is added again after a delay that starts at 5 ms and
// doubles with each failure. When it succeeds, its failures are forgotten.
func Example_retryWithBackoff() {
	q := shardq.MustNew(shardq.Options[string]{})
	attempts := 0
	reconcile := func(string) error {
		if attempts++; attempts < 4 {
			return errors.New("not yet")
		}
		return nil
	}

	q.Add("web")
	for q.NumRequeues("web") > 0 || attempts == 0 {
		item, _ := q.Get() // blocks while the item is delayed
		if err := reconcile(item); err != nil {
			q.AddRateLimited(item)
			fmt.Printf("attempt %d: %v, requeues: %d\n", attempts, err, q.NumRequeues(item))
		} else {
			q.Forget(item)
			fmt.Printf("attempt %d: done, requeues: %d\n", attempts, q.NumRequeues(item))
		}
		q.Done(item) // owed in either case
	}
	// Output:
	// attempt 1: not yet, requeues: 1
	// attempt 2: not yet, requeues: 2
	// attempt 3: not yet, requeues: 3
	// attempt 4: done, requeues: 0
}

// Workers try a webhook again after a backoff, and discard one that cannot
// succeed.
func Example_retries() {
	ctx := context.Background()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	queue := shardq.MustNew(shardq.Options[string]{Shards: 1})
	refusals := 2
	deliver := func(ctx context.Context, hook string) error {
		switch {
		case hook == "hook/old":
			return worker.Permanent(errors.New("no such endpoint"))
		case refusals > 0:
			refusals--
			return errors.New("connection refused")
		}
		fmt.Println(hook, "is delivered")
		stop() // for this example: a signal does the same
		return nil
	}
	workers, err := worker.New(queue, worker.Options[string]{
		Workers:     1,
		Handle:      deliver,
		Timeout:     30 * time.Second, // of each attempt
		MaxAttempts: 10,
		OnError: func(_ context.Context, f worker.Failure[string]) {
			fmt.Printf("%s: attempt %d: %v\n", f.Item, f.Attempt, f.Err)
		},
		OnDiscard: func(_ context.Context, f worker.Failure[string]) {
			fmt.Printf("%s is discarded: %v\n", f.Item, f.Err)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	queue.AddBatch([]string{"hook/old", "hook/new"}, shardq.AddOptions{})
	if err := workers.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// hook/old: attempt 1: no such endpoint
	// hook/old is discarded: no such endpoint
	// hook/new: attempt 1: connection refused
	// hook/new: attempt 2: connection refused
	// hook/new is delivered
}
