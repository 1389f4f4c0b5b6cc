package workload

import (
	"sync"
	"time"
)

// A Limiter has the methods that the limiter workload uses. The limiters of
// package limiter and of client-go have them.
type Limiter[T comparable] interface {
	When(item T) time.Duration
	Forget(item T)
}

// LimiterCycle calls When and then Forget for a key of the stream, items times
// in all, from several goroutines that start at different places of the stream.
// It returns the time.
func LimiterCycle[T comparable](l Limiter[T], stream Stream[T], goroutines, items int) time.Duration {
	var running sync.WaitGroup
	start := time.Now()
	for g := range goroutines {
		running.Go(func() {
			first := g * len(stream) / goroutines
			for i := range share(items, g, goroutines) {
				item := stream.At(first + i)
				l.When(item)
				l.Forget(item)
			}
		})
	}
	running.Wait()
	return time.Since(start)
}

// share returns the number of items of worker w of n.
func share(items, w, n int) int { return items*(w+1)/n - items*w/n }

// LockedLimiter is the baseline for limiters: exponential backoff with a count
// for each item in a map under one mutex, the design of client-go's
// TypedItemExponentialFailureRateLimiter. It is safe for concurrent use.
type LockedLimiter[T comparable] struct {
	mu       sync.Mutex
	failures map[T]int
	base     time.Duration
	max      time.Duration
}

// NewLockedLimiter returns a limiter whose delays start at base and double with
// each When up to max.
func NewLockedLimiter[T comparable](base, max time.Duration) *LockedLimiter[T] {
	return &LockedLimiter[T]{failures: map[T]int{}, base: base, max: max}
}

// When returns the delay of item, which grows with each call.
func (l *LockedLimiter[T]) When(item T) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	failures := l.failures[item]
	l.failures[item] = failures + 1
	if failures >= 62 || l.max>>failures < l.base {
		return l.max
	}
	return l.base << failures
}

// Forget makes the next delay of item the first one again.
func (l *LockedLimiter[T]) Forget(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, item)
}
