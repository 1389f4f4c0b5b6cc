package suite

import (
	"runtime"
	"testing"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

// delayedCounts returns the numbers of delayed items beside which AddAfter is
// measured. "delayed=0" is one delayed item alone.
func delayedCounts() []int {
	if small() {
		return []int{0, 100_000}
	}
	return []int{0, 100_000, 1_000_000}
}

// AddAfter measures the rescheduling of a delayed item to an earlier deadline.
func AddAfter[T comparable](b *testing.B, engines []workload.Engine[T], makeKeys func(int) []T) {
	for _, n := range delayedCounts() {
		keys := makeKeys(max(n, 1))
		b.Run("delayed="+Count(n), func(b *testing.B) {
			forEach(b, engines, n, func(b *testing.B, e workload.Engine[T]) {
				q := e.New().(workload.DelayingQueue[T])
				defer q.ShutDown()
				keysOf := workload.NewDelayedKeys(q, keys)
				b.ReportAllocs()
				b.ResetTimer()
				keysOf.Reschedule(b.N)
				b.StopTimer()
			})
		})
	}
}

// DelayedCycle measures AddAfter, expiry, Get and Done of many items whose
// delays are spread over 100 ms. One operation is all items, and ns/item is the
// time for each.
func DelayedCycle[T comparable](b *testing.B, engines []workload.Engine[T], makeKeys func(int) []T) {
	const within = 100 * time.Millisecond
	n := 500_000
	if small() {
		n = 50_000
	}
	keys, delays := workload.Shuffled(makeKeys(n)), workload.Delays(n, within)
	b.Run("items="+Count(n), func(b *testing.B) {
		forEach(b, engines, n, func(b *testing.B, e workload.Engine[T]) {
			b.ReportAllocs()
			var elapsed time.Duration
			for range b.N {
				q := e.New().(workload.DelayingQueue[T])
				elapsed += workload.DelayedCycle(q, keys, delays, runtime.GOMAXPROCS(0))
			}
			b.ReportMetric(float64(elapsed.Nanoseconds())/float64(b.N*n), "ns/item")
			b.ReportMetric(float64(b.N*n)/elapsed.Seconds(), "items/s")
		})
	})
}

// Lateness measures how long after their deadlines items are handed out when
// nothing else runs.
func Lateness(b *testing.B, engines []workload.Engine[uint64]) {
	const within = time.Second
	delays := workload.Delays(10_000, within)
	forEach(b, engines, len(delays), func(b *testing.B, e workload.Engine[uint64]) {
		var late []time.Duration
		for range b.N {
			late = workload.Lateness(e.New().(workload.DelayingQueue[uint64]), delays)
		}
		b.ReportMetric(microseconds(workload.Quantile(late, 0.5)), "p50-µs")
		b.ReportMetric(microseconds(workload.Quantile(late, 0.99)), "p99-µs")
		b.ReportMetric(microseconds(workload.Quantile(late, 1)), "max-µs")
	})
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
