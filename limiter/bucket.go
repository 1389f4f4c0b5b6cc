package limiter

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/shardq/shardq/clock"
)

// NewBucket returns a limiter that delays failures to the rate of a token
// bucket, which all items share. Each failure takes one token. Its delay lasts
// until the bucket would have had that token. The limiter is client-go's
// BucketRateLimiter. It keeps no history: Forget does nothing and NumRequeues
// always returns 0.
//
// Several limiters may share a bucket, and the caller may change its limit and
// burst at any time. If the clock goes backward, no delay becomes negative, and
// the bucket earns tokens twice for the repeated time.
//
// NewBucket reads Clock. It panics if bucket is nil.
//
// The extreme values have these effects, as in package rate:
//   - A limit of [rate.Inf] means no delay, whatever the burst.
//   - A limit of 0 or less means no delay while the initial burst lasts, and
//     then the longest duration, about 292 years. So does any limit whose next
//     token is further off than that.
//   - A burst of 0 or less means that longest duration, always.
//   - A limit of NaN or plus infinity, other than rate.Inf, means no delay.
func NewBucket[T comparable](bucket *rate.Limiter, options ...Options) Limiter[T] {
	if bucket == nil {
		panic("limiter: NewBucket: bucket is nil, want a *rate.Limiter")
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
