package bench_test

import (
	"fmt"
	"testing"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
)

// BenchmarkMetrics measures 8 producers and 8 consumers, with and without
// metrics. The time is for each item from its Add to its Done, without the
// warm-up.
func BenchmarkMetrics(b *testing.B) {
	for _, traffic := range []struct {
		name string
		run  func(q *shardq.Queue[string], keys []string, load workload.Load) workload.Traffic
	}{
		{"open", func(q *shardq.Queue[string], keys []string, load workload.Load) workload.Traffic {
			return workload.Open(q, workload.Stream[string](keys), load)
		}},
		{"closed", func(q *shardq.Queue[string], keys []string, load workload.Load) workload.Traffic {
			return workload.Closed(q, keys, load)
		}},
	} {
		for _, use := range []string{"no", "yes"} {
			b.Run(fmt.Sprintf("traffic=%s/producers=8/consumers=8/shards=32/feature=Metrics/use=%s", traffic.name, use), func(b *testing.B) {
				keys := workload.Shuffled(workload.Strings(1 << 16))
				q := shardq.MustNew(shardq.Options[string]{Shards: 32, Metrics: use == "yes"})
				b.ResetTimer()
				t := traffic.run(q, keys, workload.Load{Producers: 8, Consumers: 8, Warmup: len(keys), Items: b.N, Warm: b.ResetTimer})
				b.ReportMetric(t.NanosecondsPerItem(), "ns/op")
				b.ReportMetric(t.DeduplicatedPerItem(), "deduplicated/item")
			})
		}
	}
}
