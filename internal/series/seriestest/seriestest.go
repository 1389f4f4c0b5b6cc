// Package seriestest provides queues for the tests of exporters, and their
// expected numbers.
package seriestest

import (
	"runtime"
	"time"
	"weak"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// NewQueue returns a queue with metrics, on a clock that stands still.
func NewQueue(name string) (*shardq.Queue[string], *clock.Fake) {
	fake := clock.NewFake(time.Unix(1_700_000_000, 0))
	return shardq.MustNew(shardq.Options[string]{Name: name, Shards: 2, Metrics: true, Clock: fake}), fake
}

// Everything returns a queue that has all metrics except those of a Coalescer.
// The first byte of an item is its group.
func Everything(name string) (*shardq.Queue[string], *clock.Fake) {
	fake := clock.NewFake(time.Unix(1_700_000_000, 0))
	return shardq.MustNew(shardq.Options[string]{
		Name: name, Shards: 2, Metrics: true, Clock: fake, Capacity: 4,
		Group: func(item string) string { return item[:1] }, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 1} },
	}), fake
}

// Play returns the queue of [Everything] after one of each event. Item a1 has
// been in processing for five seconds. Many of its numbers are equal, unlike
// those of [Invent].
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

// reportAttempts reports attempts as a worker does, another number with each
// result.
func reportAttempts(q *shardq.Queue[string]) {
	reporter := engine.Of(q).Owner
	for result := range stats.Result(stats.Results) {
		for range Attempts[result] {
			reporter.ReportAttempt(worker.Report[string]{Item: "a1", Result: result, Duration: time.Second, Worker: 1})
		}
	}
}

// Attempts has the numbers of the attempts of Play's queue, by their results.
// Each took a second, and was at an item of the group a.
var Attempts = [stats.Results]uint64{
	stats.Succeeded: 111, stats.Failed: 112, stats.Panicked: 113,
	stats.TimedOut: 114, stats.Requeued: 115, stats.Discarded: 116,
}

// Played has the numbers of Play's queue, without the skew, groups and
// histograms.
var Played = map[string]float64{
	"workqueue.depth":                     3, // a1, a2, d
	"workqueue.adds":                      5,
	"workqueue.unfinished_work":           5,
	"workqueue.longest_running_processor": 5,
	"workqueue.retries":                   5,
	"shardq.ready.items":                  2,
	"shardq.processing.items":             1,
	"shardq.dirty.items":                  1,
	"shardq.delayed.items":                2,
	"shardq.held.items":                   4,
	"shardq.capacity.items":               4,
	"shardq.limiter.items":                1,
	"shardq.oldest.ready":                 5,
	"shardq.oldest.processing":            5,
	"shardq.workers":                      0,
	"shardq.parked.consumers":             0,
	"shardq.shards":                       2,
	"shardq.shutting_down":                0,
	"shardq.paused":                       0,
	"shardq.groups":                       3,
	"shardq.throttled.groups":             1,
	"shardq.rate_throttled.groups":        0,
	"shardq.pause_throttled.groups":       0,
	"shardq.deduplicated.adds":            1,
	"shardq.dropped.adds":                 0,
	"shardq.rejected.adds":                0,
	"shardq.canceled.adds":                1,
	"shardq.over_capacity.adds":           1,
	"shardq.misused.dones":                1,
	"shardq.expired.delays":               2,
	"shardq.backoffs":                     2,
	"shardq.discarded.items":              0,
	"shardq.outages":                      0,
	"shardq.outage.failures":              0,
}

// NewCoalescer returns a Coalescer with metrics, on a clock that stands still.
// Its values are strings, weighed by their lengths.
func NewCoalescer(name string, capacity int) *coalesce.Coalescer[string, string] {
	return coalesce.MustNew(coalesce.Options[string, string]{
		Queue:    shardq.Options[string]{Name: name, Metrics: true, Clock: clock.NewFake(time.Unix(1_700_000_000, 0))},
		Merge:    func(pending, next string) string { return pending + next },
		Weight:   func(value string) int { return len(value) },
		Capacity: capacity,
	})
}

// PlayValues returns the Coalescer of [NewCoalescer] after some Puts, such that
// no two numbers in [PlayedValues] are equal.
func PlayValues(name string) (*coalesce.Coalescer[string, string], error) {
	c := NewCoalescer(name, 5)
	for _, p := range []coalesce.Entry[string, string]{
		{Key: "a", Value: "12"}, {Key: "a", Value: "34"}, {Key: "a", Value: "5"},
		{Key: "b", Value: "6"},  // beyond the capacity
		{Key: "b", Value: "78"}, // and again
		{Key: "b", Value: "9"},  // and again
	} {
		if err := c.Put(p.Key, p.Value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// PlayedValues has the numbers of PlayValues' Coalescer, without those of the
// queue of its keys.
var PlayedValues = map[string]float64{
	"shardq.pending.keys":          2,
	"shardq.lingering.keys":        0,
	"shardq.pending.weight":        9,
	"shardq.pending.capacity":      5,
	"shardq.puts":                  6,
	"shardq.merged.puts":           4,
	"shardq.pending.over_capacity": 3,
}

// Collected reports whether the target of a weak pointer has been collected as
// garbage.
func Collected[T any](gone weak.Pointer[T]) bool {
	for range 10 { // a stack may still refer to the target
		runtime.GC()
	}
	return gone.Value() == nil
}
