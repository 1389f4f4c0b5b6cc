// Package least keeps the first of very many.
package least

import (
	"cmp"
	"slices"
)

// A Selection keeps the values that come with the least keys. It must be made by [New]. It is not
// safe for concurrent use.
//
// It is a binary heap with the last of what is kept at its root: so one more value costs a comparison if it
// comes later than that, as a rule, and otherwise the logarithm of their number.
type Selection[T any] struct {
	n    int
	heap []keyed[T]
	seen int
}

type keyed[T any] struct {
	key   uint64
	place int // of those with the same key the first are kept
	value T
}

// after reports whether a comes after b.
func (a *keyed[T]) after(b *keyed[T]) bool {
	return a.key > b.key || a.key == b.key && a.place > b.place
}

// New returns a selection of n values at most.
func New[T any](n int) *Selection[T] { return &Selection[T]{n: max(n, 0)} }

// Wants reports whether a value with that key would be kept.
func (s *Selection[T]) Wants(key uint64) bool {
	return len(s.heap) < s.n || s.n > 0 && key < s.heap[0].key
}

// Add offers a value. Of those with the same key the first are kept.
func (s *Selection[T]) Add(key uint64, value T) {
	if !s.Wants(key) {
		return
	}
	s.seen++
	added := keyed[T]{key, s.seen, value}
	if len(s.heap) < s.n {
		s.heap = append(s.heap, added)
		s.rise(len(s.heap) - 1)
		return
	}
	s.heap[0] = added
	s.sink(0)
}

// rise moves a value up to where it belongs.
func (s *Selection[T]) rise(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !s.heap[i].after(&s.heap[parent]) {
			return
		}
		s.heap[i], s.heap[parent] = s.heap[parent], s.heap[i]
		i = parent
	}
}

// sink moves a value down to where it belongs.
func (s *Selection[T]) sink(i int) {
	for {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s.heap); child++ {
			if s.heap[child].after(&s.heap[last]) {
				last = child
			}
		}
		if last == i {
			return
		}
		s.heap[i], s.heap[last] = s.heap[last], s.heap[i]
		i = last
	}
}

// Len returns how many values are kept.
func (s *Selection[T]) Len() int { return len(s.heap) }

// Values returns what was kept, in the order of their keys, those with the same key in that in which
// they came.
func (s *Selection[T]) Values() []T {
	sorted := slices.Clone(s.heap)
	slices.SortFunc(sorted, func(a, b keyed[T]) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.place, b.place))
	})
	values := make([]T, len(sorted))
	for i := range sorted {
		values[i] = sorted[i].value
	}
	return values
}
