package suite

import (
	"fmt"
	"testing"

	"github.com/shardq/shardq/bench/workload"
)

// Order measures how far from strict FIFO order a queue hands items out: how
// many older items a Get passes over, and how many younger ones are handed out
// before an item. The time of the benchmark means nothing.
func Order(b *testing.B, engines []workload.Engine[uint64]) {
	const items = 200_000
	for _, backlog := range []int{100, 10_000} {
		for _, consumers := range []int{1, 8} {
			b.Run(fmt.Sprintf("backlog=%s/consumers=%d", Count(backlog), consumers), func(b *testing.B) {
				forEach(b, engines, items, func(b *testing.B, e workload.Engine[uint64]) {
					for range b.N {
						out := workload.OrderOf(e.New(), items, backlog, consumers)
						reportDisorder(b, workload.MeasureDisorder(out))
					}
				})
			})
		}
	}
}

func reportDisorder(b *testing.B, d workload.Disorder) {
	b.ReportMetric(workload.Mean(d.RankErrors), "rank-error-mean")
	b.ReportMetric(float64(workload.Quantile(d.RankErrors, 0.99)), "rank-error-p99")
	b.ReportMetric(float64(workload.Quantile(d.RankErrors, 1)), "rank-error-max")
	b.ReportMetric(float64(workload.Quantile(d.Skips, 0.99)), "skips-p99")
	b.ReportMetric(float64(workload.Quantile(d.Skips, 1)), "skips-max")
}
