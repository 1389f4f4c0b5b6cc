package worker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/worker"
)

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
	insert := func(rows []int) (refused map[int]error, err error) { // a call of the database
		refused = map[int]error{}
		for i, row := range rows {
			if row < 0 {
				refused[i] = worker.Permanent(errors.New("out of range"))
			}
		}
		return refused, nil
	}
	queue := shardq.MustNew(shardq.Options[int]{Shards: 1})
	queue.AddBatch([]int{7, -1, 8}, shardq.AddOptions{})
	queue.ShutDown() // for this example: ready items are still handed out
	workers, err := worker.New(queue, worker.Options[int]{
		Workers: 1, BatchSize: 100,
		HandleBatch: func(_ context.Context, rows []int) []error {
			refused, err := insert(rows)
			if err != nil {
				return worker.FailAll(len(rows), err)
			}
			return worker.FailSome(len(rows), refused)
		},
		OnDiscard: func(_ context.Context, f worker.Failure[int]) { fmt.Println("discarded:", f.Item, f.Err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(workers.Run(context.Background()))
	// Output:
	// discarded: -1 out of range
	// <nil>
}
