//go:build unix

package shardq_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// On SIGTERM, or Ctrl-C, the program accepts no more items, processes those
// that it has, for 20 seconds at most, and ends. A second signal ends it at
// once.
func Example_drainOnSIGTERM() {
	q := shardq.MustNew(shardq.Options[string]{})
	workers, err := worker.New(q, worker.Options[string]{
		Workers: 4,
		Handle: func(ctx context.Context, item string) error {
			if item == "10" { // for this example: the platform stops the program
				return syscall.Kill(os.Getpid(), syscall.SIGTERM)
			}
			return nil
		},
		Drain:        q.DrainWith(shardq.DrainOptions{Delayed: shardq.DropDelayed}),
		DrainTimeout: 20 * time.Second, // less than the platform waits before SIGKILL
	})
	if err != nil {
		panic(err)
	}
	for item := range 1000 {
		q.Add(fmt.Sprint(item))
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err = workers.Run(ctx)       // or a *shardq.DrainError: what was left after 20 seconds

	q.Add("late") // too late: dropped, and counted
	stats := q.Stats()
	fmt.Println("left:", stats.Ready+stats.Processing, "dropped:", stats.Dropped, "error:", err)
	// Output: left: 0 dropped: 1 error: <nil>
}
