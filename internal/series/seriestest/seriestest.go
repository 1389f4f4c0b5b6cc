// Package seriestest provides queues for the tests of exporters, and their
// expected numbers.
package seriestest

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

func newClock() *clock.Fake { return clock.NewFake(time.Unix(1_700_000_000, 0)) }

// NewQueue returns a queue with metrics, on a clock that stands still.
func NewQueue(name string) (*shardq.Queue[string], *clock.Fake) {
	fake := newClock()
	return shardq.MustNew(shardq.Options[string]{Name: name, Shards: 2, Metrics: true, Clock: fake}), fake
}

// Everything returns a queue that has all metrics except those of a Coalescer.
// The first byte of an item is its group.
func Everything(name string) (*shardq.Queue[string], *clock.Fake) {
	fake := newClock()
	return shardq.MustNew(shardq.Options[string]{
		Name: name, Shards: 2, Metrics: true, Clock: fake, Capacity: 4,
		Group: func(item string) string { return item[:1] }, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 1} },
	}), fake
}

// Play returns the queue of [Everything] after one of each event. Item a1 has
// been in processing for five seconds.
func Play(name string) *shardq.Queue[string] {
	q, fake := Everything(name)
	q.Add("a1")
	q.Add("a2")
	q.Add("a2") // deduplicated
	q.Get()     // a1
	q.Add("a1") // dirty
	q.AddAfter("b", time.Hour)
	q.AddAfter("c", time.Second)
	q.AddRateLimited("d")
	q.AddRateLimited("d")
	q.AddAfter("a1", time.Hour)
	fake.Step(2 * time.Second)
	q.Cancel("c")
	q.Done("nobody's")
	fake.Step(3 * time.Second)
	reportAttempts(q)
	return q
}

func reportAttempts(q *shardq.Queue[string]) {
	reporter := engine.Of(q).Owner
	for result := range stats.Result(stats.Results) {
		for range Attempts[result] {
			reporter.ReportAttempt(worker.Report[string]{Item: "a1", Result: result, Duration: time.Second, Worker: 1})
		}
	}
}

// Attempts has the attempts of the queue of [Play], by result. Each took a
// second, at an item of the group a.
var Attempts = [stats.Results]uint64{
	stats.Succeeded: 111, stats.Failed: 112, stats.Panicked: 113,
	stats.TimedOut: 114, stats.Requeued: 115, stats.Discarded: 116,
}

// NewCoalescer returns a Coalescer with metrics, on a clock that stands still.
// Its values are strings, weighed by their lengths.
func NewCoalescer(name string, capacity int) *coalesce.Coalescer[string, string] {
	return coalesce.MustNew(coalesce.Options[string, string]{
		Queue:    shardq.Options[string]{Name: name, Metrics: true, Clock: newClock()},
		Merge:    func(pending, next string) string { return pending + next },
		Weight:   func(value string) int { return len(value) },
		Capacity: capacity,
	})
}

// PlayValues returns the Coalescer of [NewCoalescer] after some Puts. All its
// own numbers differ.
func PlayValues(name string) (*coalesce.Coalescer[string, string], error) {
	c := NewCoalescer(name, 5)
	for _, p := range []coalesce.Entry[string, string]{
		{Key: "a", Value: "12"}, {Key: "a", Value: "34"}, {Key: "a", Value: "5"},
		{Key: "b", Value: "6"}, {Key: "b", Value: "78"}, {Key: "b", Value: "9"}, // each beyond the capacity
	} {
		if err := c.Put(p.Key, p.Value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Invent returns a queue whose numbers all differ, so that a test notices an
// exporter that confuses two.
func Invent(name string) shardq.Inspector { return inventive{Play(name)} }

type inventive struct{ shardq.Inspector }

func (i inventive) Stats() shardq.Stats {
	played := i.Inspector.Stats().Metrics
	return shardq.Stats{
		Shards: 2, Ready: 11, Delayed: 12, Processing: 13, Held: 14, Groups: 15, Throttled: 16,
		ThrottledByRate: 17, ThrottledByPause: 18,
		Added: 32, Deduplicated: 33, Expired: 34, Dropped: 35, Canceled: 36, OverCapacity: 37, Rejected: 38, Misused: 39, Discarded: 40,
		Outages: 41, OutageFailures: 42,
		Capacity: 51, Limited: 52, Parked: 53, Workers: 54, ShuttingDown: true,
		PerShard: []stats.Shard{
			{Added: 24, OldestReady: 65 * time.Second, OldestProcessing: 67 * time.Second},
			{Added: 8, OldestReady: 66 * time.Second, OldestProcessing: 9 * time.Second},
		},
		Metrics: &stats.Metrics{
			Depth: 81, Dirty: 82, Retries: 83, Backoffs: 84,
			QueueDuration: played.QueueDuration, WorkDuration: played.WorkDuration, Delay: played.Delay,
			Attempts:   played.Attempts,
			Unfinished: 85 * time.Second, LongestRunning: 86 * time.Second,
		},
		Values: &stats.Values{Keys: 91, Weight: 92, Capacity: 93, Put: 94, Merged: 95, OverCapacity: 96, Lingering: 97},
	}
}

// Numbers returns the numbers of [series.Numbers] that a queue has, by name. A
// test of package series compares those of [Invent] with what they are to be.
func Numbers(queue shardq.Inspector) map[string]float64 {
	var r registry.Registry
	_ = r.Add(registry.RowsOf([]shardq.Inspector{queue})...) // an error leaves no number
	numbers := map[string]float64{}
	for _, reading := range r.Read() {
		for _, n := range series.Numbers {
			if n.Has(&reading) {
				numbers[n.Name] = n.Value(&reading.Stats)
			}
		}
	}
	return numbers
}
