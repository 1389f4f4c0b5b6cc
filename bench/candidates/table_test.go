package candidates

import (
	"testing"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

// BenchmarkTable compares ways in which a shard may keep its items: two sets as
// in client-go, one map of phases, and shardq's table.
func BenchmarkTable(b *testing.B) {
	b.Run("load=cycle/shards=1", func(b *testing.B) {
		for _, q := range tables(1) {
			b.Run("table="+q.name, func(b *testing.B) { cycle(b, q) })
		}
	})
	b.Run("load=8x8/shards=default", func(b *testing.B) {
		stream := workload.Uniform(workload.Strings(fewKeys))
		for _, q := range tables(engine.DefaultShards()) {
			b.Run("table="+q.name, func(b *testing.B) {
				traffic(b, q.new(), stream, goroutines{8, 8}, fewKeys)
			})
		}
	})
	b.Run("load=full/shards=1", func(b *testing.B) {
		keys := workload.Strings(manyKeys)
		for _, q := range tables(1) {
			b.Run("table="+q.name, func(b *testing.B) { heap(b, q, keys) })
		}
	})
}

func tables(shards int) []queue {
	with := func(name string, store func() store[string]) queue {
		return stripedQueue(name, func(d *design[string]) { d.stripes, d.store = shards, store })
	}
	fused := real(shards)
	fused.name = "fused"
	return []queue{with("two-maps", newTwoMaps[string]), with("one-map", newOneMap[string]), fused}
}

// heap measures the heap that ready items take, and what is left when they are
// done.
func heap(b *testing.B, q queue, keys []string) {
	for range b.N {
		use := workload.HeapOfReady(q.new, keys)
		b.ReportMetric(use.PerItem, "B/item")
		b.ReportMetric(use.Retained, "B-retained")
	}
	b.ReportMetric(0, "ns/op") // means nothing here, and hides it
}
