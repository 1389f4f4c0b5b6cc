// Package topk selects the first k of many values.
package topk

import (
	"cmp"
	"container/heap"
	"slices"
)

// A Selection keeps the first of the values that are added, in the order of a
// comparison. It is a binary heap with the last kept value at its root: most
// values of a long sequence cost one comparison. It is not safe for concurrent
// use.
type Selection[T any] struct {
	n       int
	compare func(a, b T) int
	heap    []placed[T]
	seen    int
}

type placed[T any] struct {
	place int // orders values that compare equal
	value T
}

// New returns a Selection of at most n values, in the order of compare.
func New[T any](n int, compare func(a, b T) int) *Selection[T] {
	return &Selection[T]{n: max(n, 0), compare: compare}
}

// Wants reports whether Add would keep the value.
func (s *Selection[T]) Wants(value T) bool {
	return !s.Full() || s.n > 0 && s.compare(value, s.heap[0].value) < 0
}

// Full reports whether the Selection has as many values as it keeps.
func (s *Selection[T]) Full() bool { return len(s.heap) == s.n }

// Add adds a value. If the Selection was full, it drops and returns a value. Of
// values that compare equal, it keeps those that were added first.
func (s *Selection[T]) Add(value T) (out T, dropped bool) {
	if !s.Wants(value) {
		return value, true
	}
	s.seen++
	added := placed[T]{s.seen, value}
	if !s.Full() {
		s.heap = append(s.heap, added)
		heap.Fix(s, len(s.heap)-1)
		return out, false
	}
	out, s.heap[0] = s.heap[0].value, added
	heap.Fix(s, 0)
	return out, true
}

func (s *Selection[T]) order(a, b *placed[T]) int {
	return cmp.Or(s.compare(a.value, b.value), cmp.Compare(a.place, b.place))
}

// Less, Swap, Push, Pop and Len implement heap.Interface.
func (s *Selection[T]) Less(i, j int) bool { return s.order(&s.heap[i], &s.heap[j]) > 0 }

func (s *Selection[T]) Swap(i, j int) { s.heap[i], s.heap[j] = s.heap[j], s.heap[i] }

func (s *Selection[T]) Push(any) { panic("topk: use Add") } // it would allocate

func (s *Selection[T]) Pop() any { panic("topk: use Values") }

func (s *Selection[T]) Len() int { return len(s.heap) }

// Values returns the kept values in order, and empties the Selection.
func (s *Selection[T]) Values() []T {
	slices.SortFunc(s.heap, func(a, b placed[T]) int { return s.order(&a, &b) })
	values := make([]T, len(s.heap))
	for i := range s.heap {
		values[i] = s.heap[i].value
	}
	s.heap = nil
	return values
}
