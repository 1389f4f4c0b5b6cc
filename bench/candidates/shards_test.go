package candidates

import (
	"fmt"
	"testing"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
)

// BenchmarkShards compares numbers of shards.
func BenchmarkShards(b *testing.B) {
	counts := []int{1, 4, 8, 16, 32, 64}
	b.Run("load=cycle", func(b *testing.B) {
		for _, n := range counts {
			b.Run(fmt.Sprintf("shards=%d", n), func(b *testing.B) { cycle(b, real(n)) })
		}
	})
	b.Run("load=8x8", func(b *testing.B) { trafficPerCount(b, counts, fewKeys, goroutines{8, 8}) })
	b.Run("load=64x64", func(b *testing.B) { trafficPerCount(b, counts, manyKeys, goroutines{64, 64}) })
	b.Run("load=new", func(b *testing.B) {
		for _, n := range counts {
			b.Run(fmt.Sprintf("shards=%d", n), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					shardq.MustNew(shardq.Options[string]{Shards: n})
				}
			})
		}
	})
}

func trafficPerCount(b *testing.B, counts []int, keys int, g goroutines) {
	stream := workload.Uniform(workload.Strings(keys))
	for _, n := range counts {
		b.Run(fmt.Sprintf("shards=%d", n), func(b *testing.B) {
			traffic(b, real(n).new(), stream, g, keys)
		})
	}
}
