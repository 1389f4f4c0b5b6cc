package compare_test

import (
	"flag"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue" // for inlining, as below

	_ "github.com/shardq/shardq" // as users do: the compiler inlines what a direct import exports
	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/limiter"
)

var large = flag.Bool("large", false, "measure memory and the garbage collector with ten million items too")

// queues returns the engines with client-go's contract.
func queues[T comparable]() []workload.Engine[T] {
	return append(engine.Both[T](), compare.ClientGo[T](), compare.ControllerRuntime[T]())
}

// channelCapacity is enough for every key of any workload.
const channelCapacity = 1 << 20

// unbounded returns the engines that can be measured with producers that never
// wait. Controller-runtime's queue is not among them. It accepts adds into a
// buffer without bounds, and empties it under the lock that its consumers need.
// Such producers fill the memory, and hardly any item is handed out.
func unbounded[T comparable]() []workload.Engine[T] {
	return append(engine.Both[T](), compare.ClientGo[T](), compare.Channel[T](channelCapacity))
}

// handovers returns the engines that pass items from one goroutine to another.
func handovers[T comparable]() []workload.Engine[T] {
	return append(unbounded[T](), compare.ControllerRuntime[T]())
}

// timers returns the engines that have delays.
func timers[T comparable]() []workload.Engine[T] {
	return append(engine.Both[T](),
		compare.ClientGo[T](), compare.ControllerRuntime[T](), compare.AfterFunc[T](), compare.GoZero[T]())
}

func BenchmarkCycle(b *testing.B) {
	b.Run("key=string", func(b *testing.B) {
		suite.Cycle(b, queues[string](), workload.Strings)
	})
	b.Run("key=request", func(b *testing.B) {
		suite.Cycle(b, queues[workload.Request](), workload.Requests)
	})
	b.Run("key=uint64", func(b *testing.B) {
		suite.Cycle(b, queues[uint64](), workload.Integers)
	})
}

func BenchmarkOpen(b *testing.B) { suite.Open(b, unbounded[string](), workload.Strings) }

func BenchmarkClosed(b *testing.B) { suite.Closed(b, handovers[string](), workload.Strings) }

func BenchmarkBatches(b *testing.B) { suite.Batches(b, handovers[string](), workload.Strings) }

func BenchmarkAddAfter(b *testing.B) { suite.AddAfter(b, timers[string](), workload.Strings) }

func BenchmarkDelayedCycle(b *testing.B) {
	suite.DelayedCycle(b, timers[string](), workload.Strings)
}

func BenchmarkLateness(b *testing.B) { suite.Lateness(b, timers[uint64]()) }

func BenchmarkMemory(b *testing.B) {
	engines := append(engine.Both[string](), compare.ClientGo[string]())
	suite.Memory(b, engines, workload.Strings, *large)
}

func BenchmarkCollector(b *testing.B) {
	b.Run("key=string", func(b *testing.B) {
		engines := append(engine.Both[string](), compare.ClientGo[string]())
		suite.Collector(b, engines, workload.Strings, *large)
	})
	b.Run("key=uint64", func(b *testing.B) {
		engines := append(engine.Both[uint64](), compare.ClientGo[uint64]())
		suite.Collector(b, engines, workload.Integers, *large)
	})
}

func BenchmarkLimiters(b *testing.B) {
	const base, longest = 5 * time.Millisecond, 1000 * time.Second
	suite.Limiters(b, []suite.NamedLimiter[string]{
		{Name: "shardq", New: func() workload.Limiter[string] {
			return limiter.NewExponential[string](base, longest)
		}},
		{Name: "client-go", New: func() workload.Limiter[string] {
			return workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, longest)
		}},
	}, workload.Strings)
}
