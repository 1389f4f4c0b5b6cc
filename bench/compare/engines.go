// Package compare puts the queues that people use beside shardq's: client-go's
// workqueue, controller-runtime's priority queue, a plain channel, go-zero's timing
// wheel and timers of package time. It is a module of its own, so that none of them
// is a requirement of shardq's.
//
// The engines here are driven by packages workload and suite, as shardq's own are.
package compare

import (
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq/bench/workload"
)

// ClientGo returns the engine of client-go's rate-limiting workqueue, unnamed and
// so without metrics, as shardq's queue is measured without.
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

// ControllerRuntime returns the engine of controller-runtime's priority queue, all
// items at the default priority.
func ControllerRuntime[T comparable]() workload.Engine[T] {
	return workload.Engine[T]{
		Name:    "controller-runtime",
		Shards:  1,
		MaxKeys: 100_000, // an item takes it many microseconds
		New:     func() workload.Queue[T] { return priorityqueue.New[T]("") },
	}
}
