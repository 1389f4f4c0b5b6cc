package worker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// A mail that cannot be sent is a dead letter. One that only the end of the
// program has stopped is kept, and added when the program starts again.
func ExampleOptions_onLeftover() {
	queue := shardq.MustNew(shardq.Options[string]{Shards: 1})
	ctx, stop := context.WithCancel(context.Background())
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 1,
		Handle: func(_ context.Context, mail string) error {
			if mail == "nonsense" {
				return worker.Permanent(errors.New("no such address"))
			}
			fmt.Println("sent:", mail)
			stop() // for this example: SIGTERM does the same
			return nil
		},
		OnDiscard: func(_ context.Context, f worker.Failure[string]) {
			fmt.Printf("dead letter: %s: %v (%v)\n", f.Item, f.Err, f.Reason)
		},
		OnLeftover: func(_ context.Context, f worker.Failure[string]) {
			fmt.Printf("kept: %s (%v)\n", f.Item, f.Reason)
		},
		Drain:        queue.DrainWith(shardq.DrainOptions{Delayed: shardq.DropDelayed}),
		DrainTimeout: time.Minute,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.AddAfter("reminder", 24*time.Hour)
	queue.AddBatch([]string{"nonsense", "welcome"}, shardq.AddOptions{})
	fmt.Println(workers.Run(ctx))
	// Output:
	// dead letter: nonsense: no such address (permanent)
	// sent: welcome
	// kept: reminder (shutdown)
	// <nil>
}
