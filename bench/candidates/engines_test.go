package candidates

import (
	"testing"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

// queue names a design that is measured.
type queue struct {
	name string
	new  func() workload.Queue[string]
}

// real is shardq itself.
func real(shards int) queue {
	return queue{"shardq", engine.Shardq[string](shards).New}
}

// stripedQueue is shardq's design with one part replaced.
func stripedQueue(name string, change func(d *design[string])) queue {
	return queue{name, func() workload.Queue[string] {
		d := design[string]{
			stripes: engine.DefaultShards(),
			store:   newOneMap[string],
			policy:  newTurns(8, 4),
			parking: newOneToken,
		}
		change(&d)
		return newStriped(d)
	}}
}

func lockFreeQueue(name string, keep bool) queue {
	const capacity = 1 << 16
	return queue{name, func() workload.Queue[string] { return newLockFree[string](capacity, keep) }}
}

// fewKeys is a number of keys whose queue fits into the processor's caches. The
// queue of manyKeys does not.
const (
	fewKeys  = 1 << 16
	manyKeys = 1_000_000
)

// cycle measures Add, Get and Done in one goroutine over a thousand keys.
func cycle(b *testing.B, q queue) {
	const keys = 1000
	stream := workload.Uniform(workload.Strings(keys))
	queue := q.new()
	defer queue.ShutDown()
	workload.Cycle(queue, stream, keys)
	b.ReportAllocs()
	b.ResetTimer()
	workload.Cycle(queue, stream, b.N)
}

// goroutines are the numbers of producers and consumers.
type goroutines struct{ producers, consumers int }

// traffic measures producers that never wait. The time is for each item from
// its Add to its Done.
func traffic(b *testing.B, q workload.Queue[string], stream workload.Stream[string], g goroutines, warmup int) {
	b.ReportAllocs()
	t := workload.Open(q, stream, workload.Load{
		Producers: g.producers,
		Consumers: g.consumers,
		Warmup:    warmup,
		Items:     b.N,
		Warm:      b.ResetTimer,
	})
	b.StopTimer()
	b.ReportMetric(t.NanosecondsPerItem(), "ns/op")
	b.ReportMetric(t.DeduplicatedPerItem(), "deduplicated/item")
}
