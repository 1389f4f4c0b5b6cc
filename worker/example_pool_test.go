package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// A Pool is the long form. OnDiscard gets the items that cannot succeed. The
// error of Run has those that are delayed when the queue is drained at the end.
func ExampleNew() {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	ctx, stop := context.WithCancel(context.Background())
	workers, err := worker.New(q, worker.Options[string]{
		Workers: 1,
		Handle: func(ctx context.Context, item string) error {
			switch item {
			case "poll":
				return worker.RequeueAfter(time.Hour) // no failure: run again later
			case "nonsense":
				return worker.Permanent(errors.New("cannot be read"))
			case "last":
				stop()
			}
			fmt.Println("done:", item)
			return nil
		},
		Timeout:      10 * time.Second,
		MaxAttempts:  5,
		OnDiscard:    func(_ context.Context, f worker.Failure[string]) { fmt.Printf("discarded: %s: %v\n", f.Item, f.Err) },
		Drain:        q.DrainWith(shardq.DrainOptions{Delayed: shardq.DropDelayed}),
		DrainTimeout: time.Minute,
	})
	if err != nil {
		panic(err)
	}
	q.AddBatch([]string{"mail", "poll", "nonsense", "last"}, shardq.AddOptions{})
	err = workers.Run(ctx)
	fmt.Println(err)
	if left, is := errors.AsType[*worker.LeftoverError[string]](err); is {
		fmt.Println("for the next start:", left.Left()[0].Item)
	}
	// Output:
	// done: mail
	// discarded: nonsense: cannot be read
	// done: last
	// worker: queue "": items left over: 1
	// for the next start: poll
}

// Workers try a webhook again after a backoff, and discard one that cannot
// succeed.
func Example_retries() {
	queue := shardq.MustNew(shardq.Options[string]{
		Shards:      1,
		RateLimiter: limiter.NewExponential[string](10*time.Millisecond, time.Minute),
	})
	queue.AddBatch([]string{"hook/old", "hook/new"}, shardq.AddOptions{})
	ctx, stop := context.WithCancel(context.Background())
	refusals := 2
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 1, MaxAttempts: 10,
		Handle: func(ctx context.Context, hook string) error {
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
		},
		OnError: func(_ context.Context, f worker.Failure[string]) {
			fmt.Printf("%s: attempt %d: %v\n", f.Item, f.Attempt, f.Err)
		},
		OnDiscard: func(_ context.Context, f worker.Failure[string]) {
			fmt.Println(f.Item, "is discarded")
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(workers.Run(ctx))
	// Output:
	// hook/old: attempt 1: no such endpoint
	// hook/old is discarded
	// hook/new: attempt 1: connection refused
	// hook/new: attempt 2: connection refused
	// hook/new is delivered
	// <nil>
}

// A file is full after two lines. The others are tried again.
func ExampleFailFrom() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: the backoff goes on
	queue := shardq.MustNew(shardq.Options[string]{Shards: 1, Clock: fake})
	queue.AddBatch([]string{"line/1", "line/2", "line/3", "line/4"}, shardq.AddOptions{})
	ctx, stop := context.WithCancel(context.Background())
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 1, BatchSize: 100,
		HandleBatch: func(_ context.Context, lines []string) []error {
			stop() // for this example: the worker leaves after this batch
			for i, line := range lines {
				if i == 2 {
					return worker.FailFrom(len(lines), i, errors.New("disk full"))
				}
				fmt.Println("written:", line)
			}
			return nil
		},
		OnError: func(_ context.Context, f worker.Failure[string]) { fmt.Println("again:", f.Item, f.Err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(workers.Run(ctx), "delayed:", queue.Stats().Delayed)
	// Output:
	// written: line/1
	// written: line/2
	// again: line/3 disk full
	// again: line/4 disk full
	// <nil> delayed: 2
}

// A database refuses single rows of a batch, or the whole transaction: then
// FailAll makes the result.
func ExampleFailSome() {
	insert := func(rows []string) (refused map[int]error, err error) { // a call of the database
		refused = map[int]error{}
		for i, row := range rows {
			if row == "" {
				refused[i] = worker.Permanent(errors.New("a row has no name"))
			}
		}
		return refused, nil
	}
	queue := shardq.MustNew(shardq.Options[string]{Shards: 1})
	queue.AddBatch([]string{"a", "", "b"}, shardq.AddOptions{})
	queue.ShutDown() // for this example: ready items are still handed out
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 1, BatchSize: 100,
		HandleBatch: func(_ context.Context, rows []string) []error {
			refused, err := insert(rows)
			if err != nil {
				return worker.FailAll(len(rows), err)
			}
			return worker.FailSome(len(rows), refused)
		},
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { fmt.Printf("discarded: %q: %v\n", f.Item, f.Err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(workers.Run(context.Background()))
	// Output:
	// discarded: "": a row has no name
	// <nil>
}
