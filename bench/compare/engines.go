// Package compare has the queues that are compared with shardq's: client-go's
// workqueue, controller-runtime's priority queue, a channel, go-zero's timing
// wheel and timers of package time. It is a separate module, so that shardq
// does not require them.
//
// Packages workload and suite drive the engines, as they drive shardq's own.
package compare

import (
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq/bench/workload"
)

// ClientGo returns the engine of client-go's rate-limiting workqueue. It has no
// name and therefore no metrics, as shardq's queue in the comparison.
func ClientGo[T comparable]() workload.Engine[T] {
	return workload.Engine[T]{
		Name:   "client-go",
		Shards: 1,
		New: func() workload.Queue[T] {
			return workqueue.NewTypedRateLimitingQueue(
				workqueue.NewTypedItemExponentialFailureRateLimiter[T](base, longest))
		},
	}
}

// ControllerRuntime returns the engine of controller-runtime's priority queue,
// with all items at the default priority.
func ControllerRuntime[T comparable]() workload.Engine[T] {
	return workload.Engine[T]{
		Name:    "controller-runtime",
		Shards:  1,
		MaxKeys: 100_000, // an item takes many microseconds
		New:     func() workload.Queue[T] { return priorityqueue.New[T]("") },
	}
}
