package limiter

import "time"

// NewWithMaxWait returns a limiter that answers as the given one does, but with
// a delay of at most max, and at least 0. A negative max counts as 0. It is
// client-go's WithMaxWaitRateLimiter.
//
// NewWithMaxWait panics if limiter is nil.
func NewWithMaxWait[T comparable](limiter Limiter[T], max time.Duration) Limiter[T] {
	if limiter == nil {
		panic("limiter: NewWithMaxWait needs a limiter, got nil")
	}
	return &withMaxWait[T]{Limiter: limiter, longest: max}
}

// withMaxWait passes Forget and NumRequeues on as they are.
type withMaxWait[T comparable] struct {
	Limiter[T]
	longest time.Duration
}

func (w *withMaxWait[T]) When(item T) time.Duration {
	return max(min(w.Limiter.When(item), w.longest), 0)
}
