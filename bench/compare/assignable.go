package compare

import (
	"k8s.io/client-go/util/workqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/limiter"
)

// This compiles only if a queue of shardq can be used wherever client-go's can,
// for every type of item, and so can its limiters.
func _[T comparable](q *shardq.Queue[T], baseline *heapqueue.Queue[T]) {
	var (
		_ workqueue.TypedInterface[T]             = q
		_ workqueue.TypedDelayingInterface[T]     = q
		_ workqueue.TypedRateLimitingInterface[T] = q

		_ workqueue.TypedRateLimitingInterface[T] = baseline
	)
}

func _[T comparable](l limiter.Limiter[T]) {
	var _ workqueue.TypedRateLimiter[T] = l // every constructor of package limiter returns this
}
