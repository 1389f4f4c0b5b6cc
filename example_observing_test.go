package shardq_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/observe/debugpage"
)

// A queue with metrics, a hook for stuck items, and a live page.
func Example_observing() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.Must(shardq.Options[string]{
		Name:       "invoices", // the label of metrics and logs
		Metrics:    true,
		StuckAfter: time.Minute,
		OnStuck: func(item shardq.ItemInfo[string]) {
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

	look := queue.Snapshot(10) // at most ten items of each state
	for _, item := range look.Processing {
		fmt.Println(item.Item, "in flight for", look.Time.Sub(item.Since))
	}
	for _, item := range look.Waiting {
		fmt.Println(item.Item, "delayed for another", item.Deadline.Sub(look.Time))
	}
	fmt.Println("ready:", look.Stats.Ready, "longest:", look.Stats.Metrics.LongestRunning)
	// Output:
	// stuck: invoice/17
	// invoice/17 in flight for 5m0s
	// invoice/18 delayed for another 55m0s
	// ready: 0 longest: 5m0s
}
