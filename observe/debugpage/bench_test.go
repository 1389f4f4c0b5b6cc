package debugpage

import (
	"fmt"
	"testing"
	"time"

	"github.com/shardq/shardq"
)

// BenchmarkInspect measures an answer about a queue with n items: a thousand in
// processing, three quarters ready, and the others delayed.
func BenchmarkInspect(b *testing.B) {
	for _, kept := range []string{"metrics", "nothing"} {
		for _, items := range []int{1000, 1_000_000} {
			q := shardq.MustNew(shardq.Options[string]{Name: "filled", Metrics: kept == "metrics"})
			for i := range items {
				delay := time.Duration(0)
				if i%4 == 0 {
					delay = time.Hour + time.Duration(i)*time.Millisecond
				}
				q.AddAfter(fmt.Sprintf("tenant-%d/invoice-%d", i%100, i), delay)
			}
			for range min(1000, items/4) {
				_, _ = q.Get()
			}
			for _, format := range []string{asHTML, asJSON, asText} {
				b.Run(fmt.Sprintf("kept=%s/items=%d/format=%s", kept, items, format), func(b *testing.B) { answer(b, q, format) })
			}
		}
	}
}

func answer(b *testing.B, queue shardq.Inspector, format string) {
	h, size := Handler(queue), 0
	b.ReportAllocs()
	for b.Loop() {
		size = ask(h, request("GET", "?format="+format)).Body.Len()
	}
	b.ReportMetric(float64(size)/1000, "kB")
}
