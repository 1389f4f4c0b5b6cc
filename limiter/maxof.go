package limiter

import (
	"fmt"
	"slices"
	"time"
)

// NewMaxOf returns a limiter that combines the given ones. When returns the
// longest of their delays, and NumRequeues the largest of their counts. The
// limiter is client-go's MaxOfRateLimiter.
//
// When and Forget call every limiter, in the order given, even if an earlier
// one panics, so that the counts of the limiters stay equal. The panic then
// continues to the caller.
//
// NewMaxOf copies the slice. It panics if a limiter is nil.
//
// Negative delays count as 0. With no limiters, When and NumRequeues return 0.
func NewMaxOf[T comparable](limiters ...Limiter[T]) Limiter[T] {
	for i, l := range limiters {
		if l == nil {
			panic(fmt.Sprintf("limiter: NewMaxOf: limiter %d is nil, want a Limiter", i))
		}
	}
	return maxOf[T](slices.Clone(limiters))
}

type maxOf[T comparable] []Limiter[T]

// When calls the first limiter and then the others, even if the first panics.
func (m maxOf[T]) When(item T) (longest time.Duration) {
	if len(m) == 0 {
		return 0
	}
	defer func() { longest = max(longest, m[1:].When(item)) }()
	return m[0].When(item)
}

// Forget calls the first limiter and then the others, even if the first panics.
func (m maxOf[T]) Forget(item T) {
	if len(m) == 0 {
		return
	}
	defer m[1:].Forget(item)
	m[0].Forget(item)
}

func (m maxOf[T]) NumRequeues(item T) (largest int) {
	for _, l := range m {
		largest = max(largest, l.NumRequeues(item))
	}
	return largest
}
