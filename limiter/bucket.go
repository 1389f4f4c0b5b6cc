package limiter

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/shardq/shardq/clock"
)

// NewBucket returns a limiter that lets the failures of all items together pass
// at the rate of a token bucket. Each failure takes one token, and waits until
// the bucket would have had it. It is client-go's BucketRateLimiter. It keeps no
// history: Forget does nothing and NumRequeues is always 0.
//
// Several limiters may share a bucket, and its limit and burst may be changed at
// any time. At the extremes of the two, as package rate has them:
//   - [rate.Inf]: no delay, whatever the burst.
//   - a limit of 0 or less: no delay while the initial burst lasts, then the
//     longest duration there is, about 292 years. So does any limit whose token
//     is further off than that.
//   - a burst of 0 or less: that longest duration, always.
//   - a limit that is NaN or plus infinity, other than rate.Inf: no delay.
//
// A clock that goes backward never makes a delay negative; the bucket earns the
// time that is repeated twice.
//
// All items share the bucket and its mutex. It reads Clock. NewBucket panics if
// bucket is nil.
func NewBucket[T comparable](bucket *rate.Limiter, options ...Options) Limiter[T] {
	if bucket == nil {
		panic("limiter: NewBucket needs a bucket, got nil")
	}
	return &tokens[T]{bucket: bucket, clock: combine(options).Clock}
}

type tokens[T comparable] struct {
	bucket *rate.Limiter
	clock  clock.Clock
}

func (t *tokens[T]) When(T) time.Duration {
	now := t.clock.Now()
	return t.bucket.ReserveN(now, 1).DelayFrom(now) // at least 0
}

func (t *tokens[T]) Forget(T) {}

func (t *tokens[T]) NumRequeues(T) int { return 0 }
