package limiter

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/shardq/shardq/clock"
)

// NewBucket returns a limiter that delays failures to the rate of a token
// bucket, which all items share. It reads Clock.
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

func (t *tokens[T]) Forget(T)          {}
func (t *tokens[T]) NumRequeues(T) int { return 0 }
func (t *tokens[T]) counts() bool      { return false }

// NewMaxOf combines limiters: When returns the longest of their delays, and
// NumRequeues the largest of their counts, as client-go's MaxOfRateLimiter
// does.
func NewMaxOf[T comparable](limiters ...Limiter[T]) Limiter[T] {
	for i, l := range limiters {
		if l == nil {
			panic(fmt.Sprintf("limiter: NewMaxOf: limiter %d is nil, want a Limiter", i))
		}
	}
	return maxOf[T](slices.Clone(limiters))
}

type maxOf[T comparable] []Limiter[T]

func (m maxOf[T]) When(item T) (longest time.Duration) {
	if len(m) == 0 {
		return 0
	}
	defer func() { longest = max(longest, m[1:].When(item)) }()
	return m[0].When(item)
}

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

func (m maxOf[T]) counts() bool { return slices.ContainsFunc(m, Counts[T]) }

// NewWithMaxWait returns a limiter that limits the delays of another one to max,
// as client-go's WithMaxWaitRateLimiter does. It panics if limiter is nil.
func NewWithMaxWait[T comparable](limiter Limiter[T], max time.Duration) Limiter[T] {
	if limiter == nil {
		panic("limiter: NewWithMaxWait: limiter is nil, want a Limiter")
	}
	return &withMaxWait[T]{Limiter: limiter, longest: max}
}

type withMaxWait[T comparable] struct {
	Limiter[T]
	longest time.Duration
}

func (w *withMaxWait[T]) counts() bool { return Counts(w.Limiter) }

func (w *withMaxWait[T]) When(item T) time.Duration {
	return max(min(w.Limiter.When(item), w.longest), 0)
}

// DefaultController is client-go's DefaultTypedControllerRateLimiter: the longer
// delay of a per-item exponential backoff, from 5 ms to 1000 s, and of a token
// bucket for all items, with 10 tokens per second and a burst of 100. It reads
// Clock and ForgetAfter.
func DefaultController[T comparable](options ...Options) Limiter[T] {
	return NewMaxOf(
		NewExponential[T](5*time.Millisecond, 1000*time.Second, options...),
		NewBucket[T](rate.NewLimiter(10, 100), options...),
	)
}

// DefaultItemBased is client-go's DefaultTypedItemBasedRateLimiter: a per-item
// exponential backoff, from 1 ms to 1000 s. It reads ForgetAfter and Clock.
func DefaultItemBased[T comparable](options ...Options) Limiter[T] {
	return NewExponential[T](time.Millisecond, 1000*time.Second, options...)
}
