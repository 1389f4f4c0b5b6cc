package harness

import (
	"reflect"
	"time"

	"github.com/shardq/shardq"
)

// mostForgotten limits the keys that are forgotten at the end of a round.
const mostForgotten = 256

// close checks a queue that is shut down and that all actors have left: further
// adds are dropped, and counted. User code does not panic meanwhile.
func (r *round) close() {
	r.suppressed.Store(true)
	defer r.suppressed.Store(false)
	if !r.queue.ShuttingDown() {
		r.violated.report("C10", -1, "ShuttingDown is false after the shutdown")
	}
	before, _ := r.queue.stats()
	key := r.plan.Keys + strangers
	r.queue.Add(key)
	r.queue.AddAfter(key, time.Nanosecond)
	r.queue.AddAfter(key, time.Hour)
	r.queue.AddRateLimited(key)
	if n := r.queue.Len(); n != 0 {
		r.violated.report("C10", -1, "%d adds after the shutdown are ready", n)
		return
	}
	if _, shutdown := r.queue.Get(); !shutdown {
		r.violated.report("C10", -1, "Get of an empty queue does not report the shutdown")
	}
	after, ok := r.queue.stats()
	before.Dropped += 4
	if ok && !reflect.DeepEqual(counts(after), counts(before)) {
		r.violated.report("Stats", -1, "after 4 dropped adds, Stats is %+v, want %+v", after, before)
	}
	r.forgetAll()
}

// counts returns the counters of the stats.
func counts(stats shardq.Stats) shardq.Stats {
	stats.PerShard, stats.Metrics, stats.NextDue = nil, nil, time.Time{}
	stats.Limited, stats.Parked, stats.Workers = 0, 0, 0
	return stats
}

// forgetAll checks that a forgotten key counts as never requeued.
func (r *round) forgetAll() {
	if !r.features.CallersLimiter {
		return // a call of the limiter may still follow
	}
	for key := range min(r.plan.Keys, mostForgotten) {
		r.queue.Forget(key)
		if n := r.queue.NumRequeues(key); n != 0 {
			r.violated.report("C28", key, "NumRequeues is %d for key %d, which was forgotten", n, key)
			return
		}
	}
}
