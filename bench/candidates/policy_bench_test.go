package candidates

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

func policies() map[string]func(shards int) policy {
	all := map[string]func(int) policy{
		"random":       newRandom,
		"ticket":       newTicket,
		"older-of-two": newOlderOfTwo,
	}
	for _, quantum := range []int{1, 8, 32} {
		for _, lanes := range []int{1, 4} {
			all[fmt.Sprintf("turns-of-%d-lanes-%d", quantum, lanes)] = newTurns(quantum, lanes)
		}
	}
	return all
}

// BenchmarkPolicy compares ways to select the shard of a Get: their cost under
// load, and how far they are from strict order. shardq has turns of 8 in 4
// lanes.
func BenchmarkPolicy(b *testing.B) {
	names := slices.Sorted(maps.Keys(policies()))
	b.Run("load=8x8", func(b *testing.B) {
		stream := workload.Uniform(workload.Strings(fewKeys))
		for _, name := range names {
			q := stripedQueue(name, func(d *design[string]) { d.policy = policies()[name] })
			b.Run("policy="+name, func(b *testing.B) {
				traffic(b, q.new(), stream, goroutines{8, 8}, fewKeys)
			})
		}
	})
	for _, backlog := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("load=order/backlog=%d", backlog), func(b *testing.B) {
			for _, name := range names {
				b.Run("policy="+name, func(b *testing.B) { order(b, policies()[name], backlog) })
			}
		})
	}
}

// order reports the disorder of the sequence in which numbered items are handed
// out.
func order(b *testing.B, policy func(int) policy, backlog int) {
	const items, consumers = 200_000, 8
	for range b.N {
		q := newStriped(design[uint64]{engine.DefaultShards(), newOneMap[uint64], policy, newOneToken})
		d := workload.MeasureDisorder(workload.OrderOf(q, items, backlog, consumers))
		b.ReportMetric(workload.Mean(d.RankErrors), "rank-error-mean")
		b.ReportMetric(float64(workload.Quantile(d.RankErrors, 0.99)), "rank-error-p99")
		b.ReportMetric(float64(workload.Quantile(d.Skips, 0.99)), "skips-p99")
		b.ReportMetric(float64(workload.Quantile(d.Skips, 1)), "skips-max")
	}
	b.ReportMetric(0, "ns/op") // means nothing here, and hides it
}
