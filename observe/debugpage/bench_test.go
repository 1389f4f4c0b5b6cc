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
			h := Handler(filled(items, kept == "metrics"))
			for _, format := range []string{asHTML, asJSON, asText} {
				b.Run(fmt.Sprintf("kept=%s/items=%d/format=%s", kept, items, format), func(b *testing.B) {
					b.ReportAllocs()
					size := 0
					for b.Loop() {
						size = ask(h, request("GET", "?format="+format)).Body.Len()
					}
					b.ReportMetric(float64(size)/1000, "kB")
				})
			}
		}
	}
}

// BenchmarkInspectDelayed measures an answer about a queue with n delayed
// items, whose delays expire between 60 and 77 minutes from now.
func BenchmarkInspectDelayed(b *testing.B) {
	for _, items := range []int{1000, 1_000_000} {
		q := shardq.MustNew(shardq.Options[int]{Name: "delayed", Metrics: true})
		for i := range items {
			q.AddAfter(i, time.Hour+time.Duration(i)*time.Millisecond)
		}
		h := Handler(q)
		b.Run(fmt.Sprintf("items=%d/format=json", items), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(h, request("GET", "?format=json"))
			}
		})
	}
}

// BenchmarkOverview measures an answer about many queues.
func BenchmarkOverview(b *testing.B) {
	var queues []shardq.Inspector
	for i := range 100 {
		queues = append(queues, shardq.MustNew(shardq.Options[int]{Name: fmt.Sprint(i), Metrics: true}))
	}
	h := Handler(queues...)
	b.ReportAllocs()
	for b.Loop() {
		ask(h, request("GET", "?format=json"))
	}
}

func filled(items int, metrics bool) *shardq.Queue[string] {
	q := shardq.MustNew(shardq.Options[string]{Name: "filled", Metrics: metrics})
	for i := range items {
		key := fmt.Sprintf("tenant-%d/invoice-%d", i%100, i)
		if i%4 == 0 {
			q.AddAfter(key, time.Hour+time.Duration(i)*time.Millisecond)
			continue
		}
		q.Add(key)
	}
	for range min(1000, items/4) {
		_, _ = q.Get()
	}
	return q
}
