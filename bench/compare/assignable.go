package compare

import (
	"k8s.io/client-go/util/workqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/limiter"
)

// That this compiles is the proof that a queue of shardq goes wherever client-go's
// goes, for every type of item, and so do its limiters.
func _[T comparable](q *shardq.Queue[T], baseline *heapqueue.Queue[T]) {
	var (
		_ workqueue.TypedInterface[T]             = q
		_ workqueue.TypedDelayingInterface[T]     = q
		_ workqueue.TypedRateLimitingInterface[T] = q

		_ workqueue.TypedRateLimitingInterface[T] = baseline
	)
}

func _[T comparable](l limiter.Limiter[T]) {
	var _ workqueue.TypedRateLimiter[T] = l // what every constructor of package limiter returns
}
