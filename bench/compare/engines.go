// Package compare has the queues that are compared with shardq's: client-go's
// workqueue, controller-runtime's priority queue, and a channel. It is a
// separate module, so that shardq does not require them.
package compare

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

// ClientGo returns the engine of client-go's rate-limiting workqueue. It has no
// name and therefore no metrics, as shardq's queue in the comparison.
func ClientGo() workload.Engine {
	return workload.Engine{Name: "client-go", Shards: 1, New: func() workload.Queue {
		return workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second))
	}}
}

// ControllerRuntime returns the engine of controller-runtime's priority queue,
// with all items at the default priority.
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
