package bench_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/coalesce"
)

type (
	coalescer  = coalesce.Coalescer[string, int]
	coalescing = coalesce.Options[string, int]
	putOptions = coalesce.PutOptions
)

func sum(pending, next int) int { return pending + next }

func newCoalescer(o coalescing) *coalescer {
	o.Merge = sum
	return coalesce.MustNew(o)
}

func take(c *coalescer) {
	key, _, _ := c.Take(context.Background())
	c.Done(key)
}

// BenchmarkCoalescer measures puts and takes with each feature, in one
// goroutine over 1k keys.
func BenchmarkCoalescer(b *testing.B) {
	put := func(c *coalescer, key string) { _ = c.Put(key, 1) }
	with := func(o putOptions) func(c *coalescer, key string) {
		return func(c *coalescer, key string) { _ = c.PutWith(key, 1, o) }
	}
	twice := func(c *coalescer, key string) { put(c, key); put(c, key) }
	peeked := func(c *coalescer, key string) { put(c, key); _, _ = c.Peek(key) }
	for _, way := range []struct {
		feature string
		options coalescing
		late    bool // the values are taken when all were put
		put     func(c *coalescer, key string)
	}{
		{"none", coalescing{}, false, put},
		{"Capacity", coalescing{Capacity: 1 << 20}, false, put},
		{"Readable,Peek", coalescing{Readable: true}, false, peeked},
		{"PutWith,Priority", coalescing{}, false, with(putOptions{Priority: 1})},
		{"two puts", coalescing{}, false, twice},
		{"two puts,LingerValues", coalescing{Linger: time.Hour, LingerValues: 2}, false, twice},
		{"late", coalescing{}, true, put},
		{"late,Linger", coalescing{Linger: time.Millisecond}, true, put},
		{"late,Delay", coalescing{}, true, with(putOptions{Delay: time.Millisecond})},
	} {
		b.Run("feature="+way.feature, func(b *testing.B) {
			c := newCoalescer(way.options)
			defer c.ShutDown()
			inRounds(b, func(keys []string) {
				for _, key := range keys {
					way.put(c, key)
					if !way.late {
						take(c)
					}
				}
				if way.late {
					for range keys {
						take(c)
					}
				}
			})
		})
	}
}

// BenchmarkCoalescerPut measures a Put beside a worker that takes the values,
// of one key and of 64k keys.
func BenchmarkCoalescerPut(b *testing.B) {
	for _, producers := range []int{1, 8} {
		for _, n := range []int{1, 64_000} {
			b.Run(fmt.Sprintf("producers=%d/keys=%d", producers, n), func(b *testing.B) {
				keys, c := workload.Strings(n), newCoalescer(coalescing{})
				var all, worker sync.WaitGroup
				taken := 0
				worker.Go(func() {
					for {
						key, value, err := c.Take(context.Background())
						if err != nil {
							return
						}
						taken += value
						c.Done(key)
					}
				})
				b.ReportAllocs()
				b.ResetTimer()
				for p := range producers {
					all.Go(func() {
						for i := p; i < b.N; i += producers {
							_ = c.Put(keys[i%n], 1)
						}
					})
				}
				all.Wait()
				c.ShutDown()
				worker.Wait()
				if taken != b.N {
					b.Fatalf("%d were taken of %d", taken, b.N)
				}
			})
		}
	}
}

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
				keys, c := workload.Strings(n), newCoalescer(coalescing{})
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
							take(c)
						}
					}
				}
			})
		}
	}
}
