package bench_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

// BenchmarkInspections measures the calls that read a queue of one shard with
// 1M items (50k with -short), without groups and with as many groups as items,
// and the longest Add beside them. Half of the items are ready, a quarter is
// delayed, a quarter is in processing, and the limiter has a history of each.
//
// One goroutine inspects, with pauses of a millisecond, and another one adds.
// That takes 25 ms, or one inspection if that takes longer. The garbage
// collector is off: while it marks, an Add that was woken waits for a
// processor. ns/op is an inspection, and add-µs the median of the longest Adds.
// The row "none" shows the effect of the scheduler and the machine.
func BenchmarkInspections(b *testing.B) {
	items := 1_000_000
	if testing.Short() {
		items = 50_000
	}
	for _, groups := range []int{0, items} {
		q := fullQueue(items, groups)
		for _, one := range inspections(q) {
			b.Run(fmt.Sprintf("items=%s/groups=%s/call=%s", suite.Count(items), suite.Count(groups), one.name), func(b *testing.B) {
				runtime.GC()
				defer debug.SetGCPercent(debug.SetGCPercent(-1))
				adds, took := make([]float64, b.N), time.Duration(0)
				for i := range adds {
					longest, inspection := addBeside(q, one.do)
					adds[i] = float64(longest.Nanoseconds()) / 1000
					took += inspection
				}
				slices.Sort(adds)
				b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/op")
				b.ReportMetric(adds[b.N/2], "add-µs")
			})
		}
		q.ShutDown()
	}
}

func fullQueue(items, groups int) *queue {
	rates := limiter.DefaultItemBased[string]()
	with := options{Shards: 1, Metrics: true, RateLimiter: rates}
	if groups > 0 {
		with.Group = tenantOf
	}
	q := shardq.MustNew(with)
	for i, key := range tenanted(items, max(1, groups)) {
		if i < 3*items/4 {
			q.Add(key)
		} else {
			q.AddAfter(key, time.Hour+time.Duration(items-i)*time.Millisecond)
		}
		rates.When(key)
	}
	for range items / 4 {
		_, _ = q.Get()
	}
	return q
}

type inspection struct {
	name string
	do   func()
}

func inspections(q *queue) []inspection {
	all := func(state stats.State) func() {
		return func() {
			for range q.All(state) {
			}
		}
	}
	return []inspection{
		{"none", func() { time.Sleep(time.Millisecond) }},
		{"Len", func() { q.Len() }},
		{"Stats", func() { q.Stats() }},
		{"Snapshot(10)", func() { q.Snapshot(10) }},
		{"Snapshot(1000)", func() { q.Snapshot(1000) }},
		{"All(Ready)", all(stats.Ready)},
		{"All(Processing)", all(stats.Processing)},
		{"All(Delayed)", all(stats.Delayed)},
		{"Groups", func() {
			for range q.Groups() {
			}
		}},
		{"MostRetried(1000)", func() { q.Inspect().MostRetried(1000) }},
	}
}

// addBeside repeats an inspection while it adds. It returns the longest Add and
// the mean time of an inspection. Without the pause, a short inspection would
// take the lock again before a blocked Add wakes, because of sync.Mutex.
func addBeside(q *queue, do func()) (longest, inspection time.Duration) {
	const besideFor, pause = 25 * time.Millisecond, time.Millisecond
	var stop atomic.Bool
	began, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		q.Add("probe:0")
		close(began)
		for !stop.Load() {
			begin := time.Now()
			q.Add("probe:0")
			longest = max(longest, time.Since(begin))
		}
	}()
	<-began
	count, took := time.Duration(0), time.Duration(0)
	for start := time.Now(); count == 0 || time.Since(start) < besideFor; count++ {
		begin := time.Now()
		do()
		took += time.Since(begin)
		time.Sleep(pause)
	}
	stop.Store(true)
	<-gone
	return longest, took / count
}
