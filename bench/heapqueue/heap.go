package heapqueue

import "time"

// delayedItem is an item and the time at which to add it.
type delayedItem[T comparable] struct {
	item     T
	deadline time.Time
	position int // in the heap
}

// deadlineHeap is a binary heap for container/heap, with the earliest deadline
// first.
type deadlineHeap[T comparable] []*delayedItem[T]

func (h deadlineHeap[T]) Len() int           { return len(h) }
func (h deadlineHeap[T]) Less(i, j int) bool { return h[i].deadline.Before(h[j].deadline) }

func (h deadlineHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i, j
}

func (h *deadlineHeap[T]) Push(w any) {
	added := w.(*delayedItem[T])
	added.position = len(*h)
	*h = append(*h, added)
}

func (h *deadlineHeap[T]) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil // the array outlives the entry
	*h = (*h)[:last]
	return w
}
