// Package topk selects the first k of many values.
package topk

import (
	"container/heap"
	"slices"
	"sort"
)

// A Selection keeps the first of the values that are added, in the order of a
// comparison. It is a binary heap with the last kept value at its root: most
// values of a long sequence cost one comparison. It is not safe for concurrent
// use.
type Selection[T any] struct {
	compare func(a, b T) int
	values  []T // by slots
	order   order
}

// An order has what needs no values, and so is compiled once: the slots of the
// values, the last one first, as a heap.
type order struct {
	n       int
	seen    int
	heap    []placed
	compare func(i, j int) int // the values in two slots
}

type placed struct {
	place int // orders values that compare equal
	slot  int
}

// New returns a Selection of at most n values, in the order of compare.
func New[T any](n int, compare func(a, b T) int) *Selection[T] {
	s := &Selection[T]{compare: compare}
	s.order = order{n: max(n, 0), compare: func(i, j int) int { return compare(s.values[i], s.values[j]) }}
	return s
}

// Wants reports whether Add would keep the value.
func (s *Selection[T]) Wants(value T) bool {
	return !s.Full() || s.order.n > 0 && s.compare(value, s.values[s.order.heap[0].slot]) < 0
}

// Full reports whether the Selection has as many values as it keeps.
func (s *Selection[T]) Full() bool { return len(s.values) == s.order.n }

// Reserve takes memory for n more values.
func (s *Selection[T]) Reserve(n int) {
	n = min(n, s.order.n-len(s.values))
	s.values, s.order.heap = slices.Grow(s.values, n), slices.Grow(s.order.heap, n)
}

// Add adds a value. If the Selection was full, it drops and returns a value. Of
// values that compare equal, it keeps those that were added first.
func (s *Selection[T]) Add(value T) (out T, dropped bool) {
	if !s.Wants(value) {
		return value, true
	}
	if !s.Full() {
		s.values = append(s.values, value)
		s.order.add(len(s.values) - 1)
		return out, false
	}
	last := &s.values[s.order.heap[0].slot]
	out, *last = *last, value
	s.order.replaced()
	return out, true
}

// Values returns the kept values in order, and empties the Selection.
func (s *Selection[T]) Values() []T {
	values := make([]T, len(s.values))
	for i, slot := range s.order.slots() {
		values[i] = s.values[slot]
	}
	s.values = nil
	return values
}

func (o *order) add(slot int) {
	o.seen++
	o.heap = append(o.heap, placed{o.seen, slot})
	heap.Fix(o, len(o.heap)-1)
}

// replaced follows a new value in the first slot of the heap.
func (o *order) replaced() {
	o.seen++
	o.heap[0].place = o.seen
	heap.Fix(o, 0)
}

// slots returns the slots in order, and empties the heap.
func (o *order) slots() []int {
	sort.Sort(sort.Reverse(o))
	slots := make([]int, len(o.heap))
	for i := range o.heap {
		slots[i] = o.heap[i].slot
	}
	o.heap = nil
	return slots
}

// Less, Swap, Push, Pop and Len implement heap.Interface.
func (o *order) Less(i, j int) bool {
	a, b := o.heap[i], o.heap[j]
	if c := o.compare(a.slot, b.slot); c != 0 {
		return c > 0
	}
	return a.place > b.place
}

func (o *order) Swap(i, j int) { o.heap[i], o.heap[j] = o.heap[j], o.heap[i] }

func (o *order) Push(any) { panic("topk: use add") } // it would allocate

func (o *order) Pop() any { panic("topk: use slots") }

func (o *order) Len() int { return len(o.heap) }
