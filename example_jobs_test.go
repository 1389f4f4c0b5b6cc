package shardq_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/shardq/shardq"
)

// Three requests for one report are one run. A change during the run is one
// more run afterwards.
func Example_deduplicatedJobs() {
	ctx := context.Background()
	queue := shardq.MustNew(shardq.Options[string]{Name: "reports"})
	queue.Add("report/7")
	queue.Add("report/7") // ready already: changes nothing
	queue.Add("report/7")

	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	runs := 0
	err := queue.Run(ctx, 4, func(ctx context.Context, report string) error {
		runs++ // no lock: one worker at a time has the key
		fmt.Println("run", runs, "of", report)
		if runs == 1 {
			queue.Add(report) // the data changes during the run
			queue.Add(report)
			return nil
		}
		stop() // for this example: a signal does the same
		return nil
	})
	if err != nil {
		log.Fatal(err) // fewer than 1 worker, or no handler
	}
	// Output:
	// run 1 of report/7
	// run 2 of report/7
}
