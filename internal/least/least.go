// Package least keeps the first of very many.
package least

import (
	"cmp"
	"slices"
)

// A Selection keeps the least of the values that it is offered. It must be made by
// [New]. It is not safe for concurrent use.
//
// It is a binary heap with the last of what is kept at its root: so one more value
// costs a comparison if it comes later than that, as a rule, and otherwise the
// logarithm of their number. It takes memory for what it keeps, not for what it
// might keep.
type Selection[T any] struct {
	n       int
	compare func(a, b T) int
	heap    []placed[T]
	seen    int
}

type placed[T any] struct {
	place int // of those that are alike the first are kept
	value T
}

// New returns a selection of n values at most, in the order of compare.
func New[T any](n int, compare func(a, b T) int) *Selection[T] {
	return &Selection[T]{n: max(n, 0), compare: compare}
}

// Wants reports whether a value like that would be kept.
func (s *Selection[T]) Wants(value T) bool {
	return !s.Full() || s.n > 0 && s.compare(value, s.heap[0].value) < 0
}

// Full reports whether there are as many as are kept.
func (s *Selection[T]) Full() bool { return len(s.heap) == s.n }

// Add offers a value. Of those that are alike the first are kept. If the selection
// was full, Add returns the value that is not kept: this one, or one before it.
func (s *Selection[T]) Add(value T) (out T, dropped bool) {
	if !s.Wants(value) {
		return value, true
	}
	s.seen++
	added := placed[T]{s.seen, value}
	if !s.Full() {
		s.heap = append(s.heap, added)
		s.rise(len(s.heap) - 1)
		return out, false
	}
	out, s.heap[0] = s.heap[0].value, added
	s.sink(0)
	return out, true
}

// order compares what is kept.
func (s *Selection[T]) order(a, b *placed[T]) int {
	return cmp.Or(s.compare(a.value, b.value), cmp.Compare(a.place, b.place))
}

// rise moves a value up to where it belongs.
func (s *Selection[T]) rise(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if s.order(&s.heap[i], &s.heap[parent]) < 0 {
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
			if s.order(&s.heap[child], &s.heap[last]) > 0 {
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

// Values returns what was kept, in order, those that are alike in that in which
// they came. The selection is empty then.
func (s *Selection[T]) Values() []T {
	slices.SortFunc(s.heap, func(a, b placed[T]) int { return s.order(&a, &b) })
	values := make([]T, len(s.heap))
	for i := range s.heap {
		values[i] = s.heap[i].value
	}
	s.heap = nil
	return values
}
