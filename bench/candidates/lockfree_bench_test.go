package candidates

import (
	"hash/maphash"
	"sync/atomic"
	"testing"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

// BenchmarkLockFree compares shardq with a queue made of lock-free parts.
func BenchmarkLockFree(b *testing.B) {
	one := real(1)
	one.name = "shardq-one-shard"
	queues := []queue{
		real(engine.DefaultShards()), one,
		lockFreeQueue("lock-free", false), lockFreeQueue("lock-free-leaking", true),
	}
	b.Run("load=cycle", func(b *testing.B) {
		for _, q := range queues {
			b.Run("queue="+q.name, func(b *testing.B) { cycle(b, q) })
		}
	})
	for _, kind := range []struct {
		name   string
		stream func([]string) workload.Stream[string]
	}{
		{"uniform", workload.Uniform[string]}, {"zipf", workload.Zipf[string]},
	} {
		b.Run("load=8x8/stream="+kind.name, func(b *testing.B) {
			stream := kind.stream(workload.Strings(fewKeys))
			for _, q := range queues {
				b.Run("queue="+q.name, func(b *testing.B) {
					traffic(b, q.new(), stream, goroutines{8, 8}, fewKeys)
				})
			}
		})
	}
}

// BenchmarkDeduplicate limits what an Add of a ready item could gain if it took
// no lock: it compares such an Add with the least that an Add without a lock
// must do. A load is not enough (docs/internals/decisions gives the reason). An
// exchange is.
func BenchmarkDeduplicate(b *testing.B) {
	const hot = "namespace-0000/object-00000000"
	q := engine.Shardq[string](engine.DefaultShards()).New()
	defer q.ShutDown()
	q.Add(hot)

	seed := maphash.MakeSeed()
	words := make([]atomic.Uint64, 1<<16)
	word := func() *atomic.Uint64 { return &words[maphash.Comparable(seed, hot)%(1<<16)] }

	cells := xsync.NewMapOf[string, *cell[string]]()
	cells.Store(hot, &cell[string]{item: hot})

	for _, way := range []struct {
		name string
		add  func()
	}{
		{"locked", func() { q.Add(hot) }},
		{"exchange", func() { word().CompareAndSwap(0, 0) }},
		{"load", func() { word().Load() }},
		{"xsync-load", func() { c, _ := cells.Load(hot); c.phase.Load() }},
	} {
		b.Run("goroutines=1/add="+way.name, func(b *testing.B) {
			for range b.N {
				way.add()
			}
		})
		b.Run("goroutines=GOMAXPROCS/add="+way.name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					way.add()
				}
			})
		})
	}
}
