package worker_test

import (
	"context"
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// At night a burst arrives. The pool grows from two workers until no item waits
// for long.
func ExampleAutoscaler() {
	q := shardq.MustNew(shardq.Options[int]{Ages: true})
	pool, _ := worker.New(q, worker.Options[int]{
		Workers: 2,
		Handle: func(ctx context.Context, item int) error {
			time.Sleep(time.Millisecond)
			return nil
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	scaler, err := worker.NewAutoscaler(pool, worker.AutoscaleOptions{
		Min: 2, Max: 16,
		TargetAge: 10 * time.Millisecond, // seconds, in a program
		Interval:  5 * time.Millisecond,
		OnResize: func(r worker.Resize) {
			if r.To == 16 {
				fmt.Println("16 workers")
				stop()
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for item := range 100_000 {
		q.Add(item)
	}
	go scaler.Run(ctx)
	fmt.Println(pool.Run(ctx))
	// Output:
	// 16 workers
	// <nil>
}
