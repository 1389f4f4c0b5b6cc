package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// The simple form: what fails comes again, with a back-off, until it succeeds.
func ExampleQueue_Run() {
	q := shardq.Must(shardq.Options[string]{})
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

// The full form: failures are told of, a panic is one of them, and what cannot be done is
// given up. At the end the queue is drained, and what waited then is told of, too.
func ExampleNewWorkers() {
	q := shardq.Must(shardq.Options[string]{Shards: 1})
	ctx, stop := context.WithCancel(context.Background())
	workers, err := shardq.NewWorkers(q, shardq.WorkerOptions[string]{
		Workers: 1,
		Handle: func(ctx context.Context, item string) error {
			switch item {
			case "poll":
				return shardq.RequeueAfter(time.Hour) // no failure: look again later
			case "nonsense":
				return shardq.Permanent(errors.New("cannot be read"))
			case "last":
				stop()
			}
			fmt.Println("done:", item)
			return nil
		},
		Timeout:      10 * time.Second,
		MaxAttempts:  5,
		OnGiveUp:     func(f shardq.Failure[string]) { fmt.Printf("given up: %s: %v\n", f.Item, f.Err) },
		Drain:        &shardq.DrainOptions{Waiting: shardq.DropWaiting},
		DrainTimeout: time.Minute,
	})
	if err != nil {
		panic(err)
	}
	q.AddBatch([]string{"mail", "poll", "nonsense", "last"})
	fmt.Println(workers.Run(ctx))
	// Output:
	// done: mail
	// given up: nonsense: cannot be read
	// done: last
	// given up: poll: shardq: queue is shut down: dropped while it waited for its delay
	// <nil>
}

// Items that are cheaper to write together are handled in batches. Each has an answer of its
// own.
func ExampleNewWorkers_batches() {
	q := shardq.Must(shardq.Options[int]{Shards: 1})
	q.AddBatch([]int{1, 2, 3, 4, 5})
	q.ShutDown() // for this example: what is ready is still worked off
	workers, _ := shardq.NewWorkers(q, shardq.WorkerOptions[int]{
		Workers: 1, BatchSize: 4,
		HandleBatch: func(ctx context.Context, items []int) []error {
			fmt.Println("writing", items)
			errs := make([]error, len(items))
			for i, item := range items {
				if item == 3 {
					errs[i] = shardq.Permanent(errors.New("no such row"))
				}
			}
			return errs
		},
		OnGiveUp: func(f shardq.Failure[int]) { fmt.Println("given up:", f.Item, f.Err) },
	})
	fmt.Println(workers.Run(context.Background()))
	// Output:
	// writing [1 2 3 4]
	// given up: 3 no such row
	// writing [5]
	// <nil>
}

// The number of workers can follow the load while they work.
func ExampleWorkers_Resize() {
	q := shardq.Must(shardq.Options[int]{})
	working, finish := make(chan int), make(chan struct{})
	workers, _ := shardq.NewWorkers(q, shardq.WorkerOptions[int]{
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
	<-working // the one worker has an item
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

// Work that is known beforehand needs no queue.
func ExampleParallelize() {
	var total atomic.Int64
	err := shardq.Parallelize(context.Background(), 4, 1001, func(ctx context.Context, piece int) error {
		total.Add(int64(piece))
		return nil
	})
	fmt.Println(total.Load(), err)

	err = shardq.Parallelize(context.Background(), 4, 1001, func(ctx context.Context, piece int) error {
		if piece == 500 {
			return fmt.Errorf("piece %d is missing", piece)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// 500500 <nil>
	// piece 500 is missing
}
