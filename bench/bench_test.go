// Package bench_test has the benchmarks of shardq. All except those of the
// limiters, the timers and the floor are pairs: the same work over shardq and
// over package heapqueue, the heap design with one lock.
//
//	go test -bench . ./bench            everything: some minutes
//	go test -short -bench . ./bench     small sizes
//	go test -bench Memory ./bench -large
package bench_test

import (
	"flag"
	"testing"
	"time"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/floor"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/timerwheel"
)

var large = flag.Bool("large", false, "measure memory and the garbage collector with ten million items too")

// withClaims returns the engines, and shardq with consumers that use claims.
func withClaims() []workload.Engine[string] {
	return append(engine.Both[string](), engine.Claims[string](engine.DefaultShards()), engine.Claims[string](1))
}

// floors returns the queues that take the same locks and miss the same cache
// lines.
func floors() []workload.Engine[string] {
	shards, items := engine.DefaultShards(), 1<<20
	return []workload.Engine[string]{floor.Engine[string](shards, items), floor.Claims[string](shards, items)}
}

func BenchmarkCycle(b *testing.B) {
	b.Run("key=string", func(b *testing.B) {
		suite.Cycle(b, withClaims(), workload.Strings)
	})
	b.Run("key=request", func(b *testing.B) {
		suite.Cycle(b, engine.Both[workload.Request](), workload.Requests)
	})
	b.Run("key=uint64", func(b *testing.B) {
		suite.Cycle(b, engine.Both[uint64](), workload.Integers)
	})
}

func BenchmarkFloor(b *testing.B) { suite.Floor(b, workload.Strings) }

func BenchmarkOpen(b *testing.B) { suite.Open(b, engine.Both[string](), workload.Strings) }

func BenchmarkClosed(b *testing.B) {
	suite.Closed(b, append(withClaims(), floors()...), workload.Strings)
}

func BenchmarkBatches(b *testing.B) {
	suite.Batches(b, append(withClaims(), floors()...), workload.Strings)
}

func BenchmarkAddAfter(b *testing.B) {
	suite.AddAfter(b, append(engine.Both[string](), floors()[0]), workload.Strings)
}

func BenchmarkDelayedCycle(b *testing.B) {
	suite.DelayedCycle(b, append(engine.Both[string](), floors()[0]), workload.Strings)
}

func BenchmarkLateness(b *testing.B) { suite.Lateness(b, engine.Both[uint64]()) }

func BenchmarkMemory(b *testing.B) { suite.Memory(b, engine.Both[string](), workload.Strings, *large) }

func BenchmarkCollector(b *testing.B) {
	b.Run("key=string", func(b *testing.B) {
		suite.Collector(b, engine.Both[string](), workload.Strings, *large)
	})
	b.Run("key=uint64", func(b *testing.B) {
		suite.Collector(b, engine.Both[uint64](), workload.Integers, *large)
	})
}

func BenchmarkOrder(b *testing.B) { suite.Order(b, engine.Both[uint64]()) }

func BenchmarkLimiters(b *testing.B) {
	const base, longest = 5 * time.Millisecond, 1000 * time.Second
	suite.Limiters(b, []suite.NamedLimiter[string]{
		{Name: "shardq", New: func() workload.Limiter[string] {
			return limiter.NewExponential[string](base, longest)
		}},
		{Name: "locked-map", New: func() workload.Limiter[string] {
			return workload.NewLockedLimiter[string](base, longest)
		}},
	}, workload.Strings)
}

func BenchmarkTimers(b *testing.B) {
	suite.Timers(b, []suite.NamedTimers{
		{Name: "wheel", New: func() workload.Timers { return wheel{timerwheel.New(0)} }},
		{Name: "heap", New: func() workload.Timers { return new(workload.HeapTimers) }},
	})
}

// wheel adapts a timer wheel to [workload.Timers].
type wheel struct{ *timerwheel.Wheel }

func (w wheel) Expire(now uint64, expired func(id uint32)) {
	const steps = 1 << 20
	for !w.Advance(now, steps, expired) {
	}
}
