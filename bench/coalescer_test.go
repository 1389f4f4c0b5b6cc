package bench_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/coalesce"
)

// BenchmarkCoalescerSource measures a Put with and without an offset: one that
// merges, one that is the first of its key, one with the Take and the Done of its
// value, and one beside a worker.
func BenchmarkCoalescerSource(b *testing.B) {
	for _, way := range []string{"merge", "first", "cycle", "worker"} {
		for _, offsets := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/offsets=%v", way, offsets), func(b *testing.B) {
				n := 1000
				if way == "first" {
					n = max(n, b.N)
				}
				keys, c := workload.Strings(n), coalesce.MustNew(coalesce.Options[string, int]{Merge: func(a, b int) int { return a + b }})
				source, err := c.NewSource("log", 0)
				must(err)
				if way == "worker" {
					go func() { must(c.Run(context.Background(), 1, func(context.Context, string, int) error { return nil })) }()
					defer c.ShutDown()
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					if key := keys[i%n]; offsets {
						_ = source.Put(key, 1, int64(i))
					} else {
						_ = c.Put(key, 1)
					}
					if way == "cycle" && i%n == n-1 {
						for range keys {
							key, _, _ := c.Take(context.Background())
							c.Done(key)
						}
					}
				}
			})
		}
	}
}
