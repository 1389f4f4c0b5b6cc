package limiter

import (
	"sync"
	"time"

	"github.com/shardq/shardq/clock"
)

// Options configure.
type Options struct {
	Clock       clock.Clock
	Random      func() float64
	ForgetAfter time.Duration
}

// NewExponential stands in until the real one is here.
func NewExponential[T comparable](base, max time.Duration, options ...Options) Limiter[T] {
	return &stand[T]{base: base, max: max, m: map[T]int{}}
}

type stand[T comparable] struct {
	mu        sync.Mutex
	base, max time.Duration
	m         map[T]int
}

func (s *stand[T]) When(item T) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.m[item]
	s.m[item]++
	if n > 62 || s.base > s.max>>n {
		return s.max
	}
	return s.base << n
}
func (s *stand[T]) Forget(item T)          { s.mu.Lock(); defer s.mu.Unlock(); delete(s.m, item) }
func (s *stand[T]) NumRequeues(item T) int { s.mu.Lock(); defer s.mu.Unlock(); return s.m[item] }
