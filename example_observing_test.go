package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/observe/debugpage"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A queue with metrics, a hook for stuck items, and a live page.
func Example_observing() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{
		Name:       "invoices", // the label of metrics and logs
		Metrics:    true,
		StuckAfter: time.Minute,
		OnStuck: func(item stats.Item[string]) {
			fmt.Println("stuck:", item.Item)
		},
		Clock: fake,
	})
	mux := http.NewServeMux() // the one that has /debug/pprof
	mux.Handle("/debug/queues", debugpage.Handler(queue))

	queue.Add("invoice/17")
	_, _ = queue.Get() // a worker that does not come back
	queue.AddAfter("invoice/18", time.Hour)
	fake.Step(5 * time.Minute)

	snapshot := queue.Snapshot(10) // at most ten items of each state
	for _, item := range snapshot.Processing {
		fmt.Println(item.Item, "in flight for", snapshot.Time.Sub(item.Since))
	}
	for _, item := range snapshot.Delayed {
		fmt.Println(item.Item, "delayed for another", item.Deadline.Sub(snapshot.Time))
	}
	fmt.Println("ready:", snapshot.Stats.Ready, "longest:", snapshot.Stats.Metrics.LongestRunning)
	// Output:
	// stuck: invoice/17
	// invoice/17 in flight for 5m0s
	// invoice/18 delayed for another 55m0s
	// ready: 0 longest: 5m0s
}

// A queue keeps the last failures of its workers, and with Metrics it counts
// all attempts by their results.
func ExampleQueue_RecentFailures() {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, Metrics: true})
	q.AddBatch([]string{"invoice/17", "invoice/18"}, shardq.AddOptions{})
	q.ShutDown()
	_ = q.Run(context.Background(), 1, func(_ context.Context, item string) error {
		if item == "invoice/18" {
			return worker.Permanent(errors.New("no such customer"))
		}
		return nil
	})

	_, discarded := q.RecentFailures(10)
	for _, f := range discarded {
		fmt.Printf("%s, attempt %d: %s (%s)\n", f.Item, f.Attempt, f.Error, f.Reason)
	}
	for result, durations := range q.Stats().Metrics.Attempts.All() {
		if durations.Count > 0 {
			fmt.Println(result, durations.Count)
		}
	}
	// Output:
	// invoice/18, attempt 1: no such customer (permanent)
	// success 1
	// discarded 1
}
