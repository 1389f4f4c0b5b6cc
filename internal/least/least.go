// Package least keeps the first of very many.
package least

import (
	"cmp"
	"slices"
)

// A Selection keeps the values that come with the least keys. It must be made by [New]. It is not
// safe for concurrent use.
type Selection[T any] struct {
	n    int
	kept []keyed[T]
	// full: n values were kept whose greatest key is bound.
	full  bool
	bound uint64
}

type keyed[T any] struct {
	key   uint64
	value T
}

// New returns a selection of n values at most.
func New[T any](n int) *Selection[T] { return &Selection[T]{n: max(n, 0)} }

// Wants reports whether a value with that key might be kept.
func (s *Selection[T]) Wants(key uint64) bool { return s.n > 0 && (!s.full || key < s.bound) }

// Add offers a value. Of those with the same key the first are kept.
//
// It sorts once for each n that are wanted: of very many, few are, unless they come in reverse.
func (s *Selection[T]) Add(key uint64, value T) {
	if !s.Wants(key) {
		return
	}
	s.kept = append(s.kept, keyed[T]{key, value})
	if len(s.kept) >= 2*s.n {
		s.cut()
		s.full, s.bound = true, s.kept[s.n-1].key
	}
}

// Len returns how many values there are now: n or more, if that many were wanted.
func (s *Selection[T]) Len() int { return len(s.kept) }

// Values returns what was kept, n values at most, in the order of their keys, those with the same key in
// that in which they came.
func (s *Selection[T]) Values() []T {
	s.cut()
	values := make([]T, len(s.kept))
	for i := range s.kept {
		values[i] = s.kept[i].value
	}
	return values
}

// cut leaves the first n.
func (s *Selection[T]) cut() {
	slices.SortStableFunc(s.kept, func(a, b keyed[T]) int { return cmp.Compare(a.key, b.key) })
	s.kept = s.kept[:min(s.n, len(s.kept))]
}
