package suite

import (
	"testing"

	"github.com/shardq/shardq/bench/workload"
)

// Memory measures the heap that ready items take, what a queue retains when
// they are done, and the heap that delayed items take. The time of the
// benchmark means nothing.
func Memory[T comparable](b *testing.B, engines []workload.Engine[T], makeKeys func(int) []T, large bool) {
	for _, n := range memorySizes(large) {
		keys := makeKeys(n)
		b.Run("items="+Count(n), func(b *testing.B) {
			forEach(b, engines, n, func(b *testing.B, e workload.Engine[T]) {
				for range b.N {
					ready := workload.HeapOfReady(e.New, keys)
					b.ReportMetric(ready.PerItem, "B/ready-item")
					b.ReportMetric(ready.Retained, "B-retained")
					b.ReportMetric(workload.HeapOfDelayed(e.New, keys), "B/delayed-item")
				}
			})
		})
	}
}

// memorySizes returns the numbers of items. The largest takes gigabytes and
// minutes.
func memorySizes(large bool) []int {
	switch {
	case small():
		return []int{100_000}
	case large:
		return []int{1_000_000, 10_000_000}
	default:
		return []int{1_000_000}
	}
}

// Collector measures a cycle of the garbage collector while a queue is full.
// One operation is one cycle, and mark-ms/op is the processor time of marking.
func Collector[T comparable](b *testing.B, engines []workload.Engine[T], makeKeys func(int) []T, large bool) {
	for _, n := range memorySizes(large) {
		keys := makeKeys(n)
		b.Run("items="+Count(n), func(b *testing.B) {
			forEach(b, engines, n, func(b *testing.B, e workload.Engine[T]) {
				q := e.New()
				defer q.ShutDown()
				cost := workload.CollectionWith(q, keys, b.N)
				b.ReportMetric(float64(cost.Elapsed.Nanoseconds()), "ns/op")
				b.ReportMetric(float64(cost.Marking.Microseconds())/1000, "mark-ms/op")
			})
		})
	}
}
