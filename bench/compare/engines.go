// Package compare has the queues that are compared with shardq's: client-go's
// workqueue, controller-runtime's priority queue, and a channel. It is a
// separate module, so that shardq does not require them.
package compare

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/limiter"
)

// ClientGo returns the engine of client-go's workqueue, without metrics.
func ClientGo() workload.Engine {
	return workload.Engine{Name: "client-go", Shards: 1, New: func() workload.Queue {
		return workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second))
	}}
}

// ControllerRuntime returns the engine of controller-runtime's priority queue.
func ControllerRuntime() workload.Engine {
	return workload.Engine{
		Name: "controller-runtime", Shards: 1,
		MaxKeys: 100_000, // an item takes many microseconds
		New:     func() workload.Queue { return priorityqueue.New[string]("") },
	}
}

// All returns the engines of this repository and the others.
func All() []workload.Engine {
	return append(engine.All(), ClientGo(), ControllerRuntime(), Channel())
}

// This compiles only if a queue of shardq can be used wherever client-go's can,
// for every type of item, and so can its limiters.
func _[T comparable](q *shardq.Queue[T], baseline *heapqueue.Queue[T], l limiter.Limiter[T]) {
	var (
		_ workqueue.TypedRateLimitingInterface[T] = q // which includes the other interfaces
		_ workqueue.TypedRateLimitingInterface[T] = baseline
		_ workqueue.TypedRateLimiter[T]           = l // every constructor of package limiter returns this
	)
}
