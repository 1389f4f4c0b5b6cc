package suite

import (
	"fmt"
	"testing"

	"github.com/shardq/shardq/bench/workload"
)

// goroutines are the numbers of producers and consumers.
type goroutines struct{ producers, consumers int }

var goroutineCounts = []goroutines{{1, 1}, {8, 8}, {64, 64}}

func (c goroutines) String() string {
	return fmt.Sprintf("producers=%d/consumers=%d", c.producers, c.consumers)
}

// stream is a way to choose the next key.
type stream[T any] struct {
	name string
	make func(keys []T) workload.Stream[T]
}

func streams[T any]() []stream[T] {
	return []stream[T]{
		{"uniform", workload.Uniform[T]},
		{"zipf", workload.Zipf[T]},
		{"hot", workload.HotKey[T]},
	}
}

// trafficKeys returns the numbers of keys with which traffic is measured.
func trafficKeys() []int {
	if small() {
		return []int{1 << 16}
	}
	return []int{1 << 16, 1_000_000}
}

// Open measures producers that never wait. The time is for each item from its
// Add to its Done. deduplicated/item is the number of adds that found their
// item in the queue.
func Open[T comparable](b *testing.B, engines []workload.Engine[T], makeKeys func(int) []T) {
	for _, n := range trafficKeys() {
		keys := makeKeys(n)
		for _, s := range streams[T]() {
			if s.name != "uniform" && n > 1<<16 {
				continue // the result does not depend on the keys that hardly occur
			}
			b.Run(fmt.Sprintf("stream=%s/keys=%s", s.name, Count(n)), func(b *testing.B) {
				openStream(b, engines, keys, s)
			})
		}
	}
}

func openStream[T comparable](b *testing.B, engines []workload.Engine[T], keys []T, s stream[T]) {
	order := s.make(keys)
	for _, c := range goroutineCounts {
		b.Run(c.String(), func(b *testing.B) {
			forEach(b, engines, len(keys), func(b *testing.B, e workload.Engine[T]) {
				reportTraffic(b, workload.Open(e.New(), order, c.load(b, warmup(s, keys))))
			})
		})
	}
}

// warmup returns the number of items after which the queue is as full as it
// will be.
func warmup[T any](s stream[T], keys []T) int {
	if s.name == "hot" {
		return 1
	}
	return len(keys)
}

// Closed measures producers that add only items whose Done was called, so that
// no add is deduplicated. The time is for each item from its Add to its Done.
func Closed[T comparable](b *testing.B, engines []workload.Engine[T], makeKeys func(int) []T) {
	for _, n := range trafficKeys() {
		keys := workload.Shuffled(makeKeys(n))
		for _, c := range goroutineCounts {
			b.Run(fmt.Sprintf("keys=%s/%s", Count(n), c), func(b *testing.B) {
				forEach(b, engines, len(keys), func(b *testing.B, e workload.Engine[T]) {
					reportTraffic(b, workload.Closed(e.New(), keys, c.load(b, len(keys))))
				})
			})
		}
	}
}

// Batches measures [Closed] traffic by batches, for engines that have them,
// beside the same traffic item by item.
func Batches[T comparable](b *testing.B, engines []workload.Engine[T], makeKeys func(int) []T) {
	keys := workload.Shuffled(makeKeys(1 << 16))
	c := goroutines{8, 8}
	b.Run(fmt.Sprintf("keys=%s/%s", Count(len(keys)), c), func(b *testing.B) {
		forEach(b, engines, len(keys), func(b *testing.B, e workload.Engine[T]) {
			b.Run("batch=1", func(b *testing.B) {
				reportTraffic(b, workload.Closed(e.New(), keys, c.load(b, len(keys))))
			})
			if _, ok := e.New().(workload.BatchQueue[T]); ok {
				b.Run("batch=64", func(b *testing.B) {
					q := e.New().(workload.BatchQueue[T])
					reportTraffic(b, workload.Batches(q, keys, c.load(b, len(keys))))
				})
			}
		})
	})
}

// load returns a load of b.N items, whose warm-up is not measured.
func (c goroutines) load(b *testing.B, warmup int) workload.Load {
	b.ReportAllocs()
	return workload.Load{
		Producers: c.producers,
		Consumers: c.consumers,
		Warmup:    warmup,
		Items:     b.N,
		Warm:      b.ResetTimer,
	}
}

// reportTraffic replaces the benchmark's own time per operation, which does not
// include items beyond b.N.
func reportTraffic(b *testing.B, t workload.Traffic) {
	b.StopTimer()
	b.ReportMetric(t.NanosecondsPerItem(), "ns/op")
	b.ReportMetric(1e9/t.NanosecondsPerItem(), "items/s")
	b.ReportMetric(t.DeduplicatedPerItem(), "deduplicated/item")
}
