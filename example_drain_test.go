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
)

// On SIGTERM, or Ctrl-C, the program takes nothing in any more, finishes what it
// has taken in, for 20 seconds at most, and ends. A second signal ends it at once.
func Example_drainOnSIGTERM() {
	q := shardq.Must(shardq.Options[int]{})
	workers, err := shardq.NewWorkers(q, shardq.WorkerOptions[int]{
		Workers: 4,
		Handle: func(ctx context.Context, item int) error {
			if item == 10 { // for this example: somebody stops the program
				return syscall.Kill(os.Getpid(), syscall.SIGTERM)
			}
			return nil
		},
		Drain:        &shardq.DrainOptions{Waiting: shardq.DropWaiting},
		DrainTimeout: 20 * time.Second, // less than the platform waits before SIGKILL
	})
	if err != nil {
		panic(err)
	}
	for item := range 1000 {
		q.Add(item)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err = workers.Run(ctx)       // or a *shardq.DrainError: what was left after 20 seconds

	q.Add(1000) // too late: dropped, and counted
	stats := q.Stats()
	fmt.Println("left:", stats.Ready+stats.Processing, "dropped:", stats.Dropped, "error:", err)
	// Output: left: 0 dropped: 1 error: <nil>
}
