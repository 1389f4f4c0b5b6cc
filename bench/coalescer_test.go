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

func newCoalescer(o coalescing) *coalescer {
	o.Merge = func(pending, next int) int { return pending + next }
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
		late    bool                           // the values are taken when all were put
		put     func(c *coalescer, key string) // or nil for ofSource
	}{
		{"none", coalescing{}, false, put},
		{"Capacity", coalescing{Capacity: 1 << 20}, false, put},
		{"Readable,Peek", coalescing{Readable: true}, false, peeked},
		{"PutWith,Priority", coalescing{}, false, with(putOptions{Priority: 1})},
		{"two puts", coalescing{}, false, twice},
		{"two puts,LingerValues", coalescing{Linger: time.Hour, LingerValues: 2}, false, twice},
		{"offsets", coalescing{}, false, nil},
		{"late", coalescing{}, true, put},
		{"late,offsets", coalescing{}, true, nil},
		{"late,Linger", coalescing{Linger: time.Millisecond}, true, put},
		{"late,Delay", coalescing{}, true, with(putOptions{Delay: time.Millisecond})},
	} {
		b.Run("feature="+way.feature, func(b *testing.B) {
			c := newCoalescer(way.options)
			defer c.ShutDown()
			put := way.put
			if put == nil {
				put = ofSource(c)
			}
			inRounds(b, func(keys []string) {
				for _, key := range keys {
					put(c, key)
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

// ofSource returns a put of values with the next offsets of a source.
func ofSource(c *coalescer) func(c *coalescer, key string) {
	source, err := c.NewSource("log", 0)
	must(err)
	offset := int64(-1)
	return func(_ *coalescer, key string) {
		offset++
		_ = source.Put(key, 1, offset)
	}
}
