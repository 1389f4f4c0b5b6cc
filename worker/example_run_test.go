package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// Each worker gets items until the queue is shut down. Done is deferred, so
// that it is called even if the work panics.
func Example_workerLoop() {
	q := shardq.MustNew(shardq.Options[int]{})
	var total atomic.Int64
	work := func(item int) { total.Add(int64(item)) }

	processNext := func() bool {
		item, shutdown := q.Get()
		if shutdown {
			return false
		}
		defer q.Done(item)
		work(item)
		return true
	}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for processNext() {
			}
		})
	}

	for item := range 101 {
		q.Add(item)
	}
	q.ShutDown() // ready items are still handed out
	workers.Wait()
	fmt.Println(total.Load())
	// Output: 5050
}

// Run is the short form: an item that fails runs again after a backoff, until
// it succeeds.
func Example_run() {
	q := shardq.MustNew(shardq.Options[string]{})
	q.Add("web")
	ctx, stop := context.WithCancel(context.Background())
	attempts := 0
	err := q.Run(ctx, 1, func(ctx context.Context, item string) error {
		if attempts++; attempts < 3 {
			return errors.New("not yet")
		}
		fmt.Println(item, "is done after", attempts, "attempts")
		stop()
		return nil
	})
	fmt.Println(err)
	// Output:
	// web is done after 3 attempts
	// <nil>
}

// A Pool is the long form. OnDiscard gets the items that will not run again:
// those that cannot succeed, and those that are delayed when the queue is
// drained at the end.
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
	q.AddBatch([]string{"mail", "poll", "nonsense", "last"})
	fmt.Println(workers.Run(ctx))
	// Output:
	// done: mail
	// discarded: nonsense: cannot be read
	// done: last
	// discarded: poll: shardq: queue is shut down: dropped while it was delayed
	// <nil>
}

// A HandleBatch gets several items in one call, which are cheaper to write
// together. It returns an error for each.
func ExampleNew_batches() {
	q := shardq.MustNew(shardq.Options[int]{Shards: 1})
	q.AddBatch([]int{1, 2, 3, 4, 5})
	q.ShutDown() // for this example: ready items are still handed out
	workers, _ := worker.New(q, worker.Options[int]{
		Workers: 1, BatchSize: 4,
		HandleBatch: func(ctx context.Context, items []int) []error {
			fmt.Println("writing", items)
			errs := make([]error, len(items))
			for i, item := range items {
				if item == 3 {
					errs[i] = worker.Permanent(errors.New("no such row"))
				}
			}
			return errs
		},
		OnDiscard: func(_ context.Context, f worker.Failure[int]) { fmt.Println("discarded:", f.Item, f.Err) },
	})
	fmt.Println(workers.Run(context.Background()))
	// Output:
	// writing [1 2 3 4]
	// discarded: 3 no such row
	// writing [5]
	// <nil>
}

// Resize changes the number of workers while they work.
func ExamplePool_Resize() {
	q := shardq.MustNew(shardq.Options[int]{})
	working, finish := make(chan int), make(chan struct{})
	workers, _ := worker.New(q, worker.Options[int]{
		Workers: 1,
		Handle: func(ctx context.Context, item int) error {
			working <- item
			<-finish
			return nil
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- workers.Run(ctx) }()
	q.AddBatch([]int{1, 2, 3})
	<-working // the only worker has an item
	workers.Resize(3)
	<-working
	<-working
	fmt.Println("workers:", workers.Len())
	close(finish)
	stop()
	fmt.Println(<-ended)
	// Output:
	// workers: 3
	// <nil>
}
