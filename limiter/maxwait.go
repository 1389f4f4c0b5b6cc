package limiter

import "time"

// NewWithMaxWait returns a limiter that limits the delays of another one to
// max. It is client-go's WithMaxWaitRateLimiter.
//
// NewWithMaxWait panics if limiter is nil.
//
// Negative delays, and a negative max, count as 0.
func NewWithMaxWait[T comparable](limiter Limiter[T], max time.Duration) Limiter[T] {
	if limiter == nil {
		panic("limiter: NewWithMaxWait: limiter is nil, want a Limiter")
	}
	return &withMaxWait[T]{Limiter: limiter, longest: max}
}

// withMaxWait inherits Forget and NumRequeues unchanged.
type withMaxWait[T comparable] struct {
	Limiter[T]
	longest time.Duration
}

func (w *withMaxWait[T]) When(item T) time.Duration {
	return max(min(w.Limiter.When(item), w.longest), 0)
}
