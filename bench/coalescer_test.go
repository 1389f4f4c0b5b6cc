package bench_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/coalesce"
)

// A pipe takes counts of keys from producers to workers.
type pipe interface {
	put(key string)
	// take takes a key and its count, and ends it. It reports false when the
	// pipe is shut down and empty.
	take() (count int, ok bool)
	shutDown()
}

// coalescing is a pipe with a coalescer.
type coalescing struct {
	c *coalesce.Coalescer[string, int]
}

func sum(pending, next int) int { return pending + next }

func newCoalescing(capacity int) pipe {
	return coalescing{coalesce.MustNew(coalesce.Options[string, int]{Merge: sum, Capacity: capacity})}
}

func (p coalescing) put(key string) { _ = p.c.Put(key, 1) }
func (p coalescing) shutDown()      { p.c.ShutDown() }

func (p coalescing) take() (int, bool) {
	key, n, err := p.c.Take(context.Background())
	if err != nil {
		return 0, false
	}
	p.c.Done(key)
	return n, true
}

// byHand is a pipe without a coalescer: a map with a lock beside a queue. It
// has no bound and no retries, and merges under its lock.
type byHand struct {
	mu     sync.Mutex
	values map[string]int
	q      *shardq.Queue[string]
}

func newByHand() pipe {
	return &byHand{values: map[string]int{}, q: shardq.MustNew(shardq.Options[string]{})}
}

func (p *byHand) put(key string) {
	p.mu.Lock()
	p.values[key]++
	p.mu.Unlock()
	p.q.Add(key)
}

func (p *byHand) take() (int, bool) {
	key, shutdown := p.q.Get()
	if shutdown {
		return 0, false
	}
	p.mu.Lock()
	n := p.values[key]
	delete(p.values, key)
	p.mu.Unlock()
	p.q.Done(key)
	return n, true
}

func (p *byHand) shutDown() { p.q.ShutDown() }

// keysAlone is a queue without values.
type keysAlone struct{ q *shardq.Queue[string] }

func newKeysAlone() pipe { return keysAlone{shardq.MustNew(shardq.Options[string]{})} }

func (p keysAlone) put(key string) { p.q.Add(key) }
func (p keysAlone) shutDown()      { p.q.ShutDown() }

func (p keysAlone) take() (int, bool) {
	key, shutdown := p.q.Get()
	if !shutdown {
		p.q.Done(key)
	}
	return 1, !shutdown
}

var pipes = []struct {
	name string
	make func() pipe
}{
	{"coalescer", func() pipe { return newCoalescing(0) }},
	{"coalescer,capacity", func() pipe { return newCoalescing(1 << 20) }},
	{"map+mutex+queue", newByHand},
	{"queue,no values", newKeysAlone},
}

// BenchmarkCoalescerPut measures a Put beside a worker that takes the values:
// with 1 and 8 producers, of one key and of 64k keys.
func BenchmarkCoalescerPut(b *testing.B) {
	for _, producers := range []int{1, 8} {
		for _, n := range []int{1, 64_000} {
			keys := workload.Strings(n)
			for _, way := range pipes {
				b.Run(fmt.Sprintf("producers=%d/keys=%s/way=%s", producers, suite.Count(n), way.name), func(b *testing.B) {
					b.ReportAllocs()
					putAll(b, way.make(), keys, producers)
				})
			}
		}
	}
}

// putAll puts b.N times, and returns when all values were taken.
func putAll(b *testing.B, p pipe, keys []string, producers int) {
	var worker, all sync.WaitGroup
	taken := 0
	worker.Go(func() {
		for n, ok := p.take(); ok; n, ok = p.take() {
			taken += n
		}
	})
	b.ResetTimer()
	for i := range producers {
		all.Go(func() {
			for n := i; n < b.N; n += producers {
				p.put(keys[n%len(keys)])
			}
		})
	}
	all.Wait()
	p.shutDown()
	worker.Wait()
	if _, counts := p.(keysAlone); !counts && taken != b.N {
		b.Fatalf("%d were taken of %d", taken, b.N)
	}
}

// BenchmarkCoalescerCycle puts and takes one value after the other, in one
// goroutine.
func BenchmarkCoalescerCycle(b *testing.B) {
	keys := workload.Strings(1000)
	for _, way := range pipes {
		b.Run("way="+way.name, func(b *testing.B) {
			p := way.make()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				p.put(keys[i%len(keys)])
				p.take()
				i++
			}
		})
	}
}

// BenchmarkCoalescerMerge puts a value for a key that has a pending value.
func BenchmarkCoalescerMerge(b *testing.B) {
	for _, way := range pipes {
		b.Run("way="+way.name, func(b *testing.B) {
			p := way.make()
			b.ReportAllocs()
			for b.Loop() {
				p.put("key")
			}
		})
	}
}
