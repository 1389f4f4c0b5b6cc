package suite

import (
	"testing"

	"github.com/shardq/shardq/bench/workload"
)

// Cycle measures Add, Get and Done of one item after the other in one
// goroutine: with the item alone in the queue (ready=0), and with all other
// keys ready.
func Cycle[T comparable](b *testing.B, engines []workload.Engine[T], makeKeys func(int) []T) {
	for _, n := range cycleKeys() {
		keys := makeKeys(n)
		stream := workload.Uniform(keys)
		b.Run("keys="+Count(n)+"/ready=0", func(b *testing.B) {
			forEach(b, engines, n, func(b *testing.B, e workload.Engine[T]) {
				cycle(b, e.New(), func(q workload.Queue[T], items int) {
					workload.Cycle(q, stream, items)
				})
			})
		})
		b.Run("keys="+Count(n)+"/ready="+Count(n), func(b *testing.B) {
			forEach(b, engines, n, func(b *testing.B, e workload.Engine[T]) {
				q := e.New()
				workload.AddAll(q, keys)
				cycle(b, q, func(q workload.Queue[T], items int) { workload.Rotate(q, items) })
			})
		})
	}
}

func cycleKeys() []int {
	if small() {
		return []int{1000}
	}
	return []int{1000, 1_000_000}
}

func cycle[T comparable](b *testing.B, q workload.Queue[T], work func(workload.Queue[T], int)) {
	defer q.ShutDown()
	work(q, 1000)
	b.ReportAllocs()
	b.ResetTimer()
	work(q, b.N)
	b.StopTimer()
	reportItems(b, b.N)
}

// Floor measures three hashes, three uncontended locks and three map
// operations: the least that a cycle costs.
func Floor[T comparable](b *testing.B, makeKeys func(int) []T) {
	for _, n := range cycleKeys() {
		stream := workload.Uniform(makeKeys(n))
		b.Run("keys="+Count(n), func(b *testing.B) {
			b.ReportAllocs()
			workload.Floor(stream, b.N)
			reportItems(b, b.N)
		})
	}
}
