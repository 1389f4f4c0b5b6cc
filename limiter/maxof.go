package limiter

import (
	"fmt"
	"slices"
	"time"
)

// NewMaxOf returns a limiter that asks each of the given ones, and answers with
// the longest delay and the largest NumRequeues: at least 0, also of no limiters
// at all. It is client-go's MaxOfRateLimiter.
//
// Every limiter is asked and every one forgets, in the order given, even if one
// before it panics: else their counts would drift apart. The panic then goes on
// to the caller. Negative delays count as 0.
//
// NewMaxOf panics if a limiter is nil. It copies the slice.
func NewMaxOf[T comparable](limiters ...Limiter[T]) Limiter[T] {
	for i, l := range limiters {
		if l == nil {
			panic(fmt.Sprintf("limiter: NewMaxOf needs limiters, got nil at index %d", i))
		}
	}
	return maxOf[T](slices.Clone(limiters))
}

type maxOf[T comparable] []Limiter[T]

// When asks the first limiter and then, panic or not, the others.
func (m maxOf[T]) When(item T) (longest time.Duration) {
	if len(m) == 0 {
		return 0
	}
	defer func() { longest = max(longest, m[1:].When(item)) }()
	return m[0].When(item)
}

// Forget tells the first limiter and then, panic or not, the others.
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
