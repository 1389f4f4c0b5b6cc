package stats_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/stats"
)

// A program reads how long its items waited. Quantiles are upper bounds of
// buckets.
func ExampleHistogram() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake, Shards: 1, Metrics: true})
	for _, pause := range []time.Duration{100, 100, 200} {
		queue.Add("invoice/17")
		fake.Step(pause * time.Millisecond)
		item, _ := queue.Get()
		queue.Done(item)
	}
	waits := queue.Stats().Metrics.QueueDuration
	fmt.Println(waits.Count, "runs waited", waits.Mean().Round(time.Millisecond), "on average")
	fmt.Println("at most 100ms:", waits.AtMost(100*time.Millisecond))
	fmt.Println("half of them within", waits.Quantile(0.5).Round(10*time.Millisecond))
	// Output:
	// 3 runs waited 133ms on average
	// at most 100ms: 2
	// half of them within 100ms
}

// Other programs can fill a histogram, too.
func ExampleRecorder() {
	var recorder stats.Recorder
	for _, n := range []time.Duration{1, 2, 30} {
		recorder.Record(0, uint64(n*time.Second)) // between two moments
	}
	var all stats.Histogram
	recorder.AddTo(&all)
	fmt.Println(all.Count, all.Sum, all.AtMost(10*time.Second))
	// Output: 3 33s 2
}

// An Inspector is any queue, also a Coalescer, whatever its items are.
func ExampleInspector() {
	mails := shardq.MustNew(shardq.Options[string]{Name: "mails"})
	clicks := coalesce.MustNew(coalesce.Options[int, int]{
		Queue: shardq.Options[int]{Name: "clicks"},
		Merge: func(pending, next int) int { return pending + next },
	})
	mails.AddAfter("reminder", time.Hour)
	_ = clicks.Put(7, 1)
	for _, queue := range []stats.Inspector{mails, clicks} {
		fmt.Println(queue.Name(), "has", queue.Stats())
		for item := range queue.Inspect().All(stats.Delayed) {
			fmt.Println(item.Item, "is", item.State)
		}
	}
	// Output:
	// mails has 0 ready, 0 in flight, 1 delayed, 0 done
	// reminder is delayed
	// clicks has 1 ready, 0 in flight, 0 delayed, 0 done
}
