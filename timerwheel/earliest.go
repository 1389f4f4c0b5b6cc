package timerwheel

import (
	"iter"
	"math/bits"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/internal/least"
)

// All returns an iterator over the ids of all timers and their deadlines, in the order of the ids.
// The wheel must not be changed meanwhile.
func (w *Wheel) All() iter.Seq2[uint32, uint64] {
	return func(yield func(id uint32, deadline uint64) bool) {
		for part := range w.nodes.Chunks() {
			nodes := w.nodes.Chunk(part)
			for i := range nodes {
				if nodes[i].next != 0 && !yield(uint32(part*chunked.ChunkCells+i), nodes[i].deadline) {
					return
				}
			}
		}
	}
}

// mostOnRings is how many timers Earliest visits along the rings. A ring is a list through all memory: to
// go along one of a million timers takes twenty times as long as to look at all nodes in their order.
const mostOnRings = 4096

// Earliest returns the ids of n timers that come first, the earliest before the others, or of all if
// there are fewer; only of those that are wanted. The cost is that of those that come before the last
// of them or share its slot; or, if these are very many, or the wheel is just being sorted, that of a look at
// all timers.
func (w *Wheel) Earliest(n int, wanted func(id uint32) bool) []uint32 {
	if n <= 0 {
		return nil
	}
	if w.cascading == 0 {
		if e, ok := w.earliestOnRings(n, wanted); ok {
			return e.Values()
		}
	}
	e := least.New[uint32](n)
	for id, deadline := range w.All() {
		if e.Wants(deadline) && wanted(id) {
			e.Add(deadline, id)
		}
	}
	return e.Values()
}

// earliestOnRings visits slot by slot until there are enough. It reports false if that takes too
// long.
func (w *Wheel) earliestOnRings(n int, wanted func(id uint32) bool) (e *least.Selection[uint32], ok bool) {
	e, visited := least.New[uint32](n), 0
	for level := range w.slots {
		for slots := w.occupied[level]; slots != 0 && e.Len() < n; slots &= slots - 1 {
			tail := w.slots[level][bits.TrailingZeros64(slots)]
			for id := range w.ring(tail) {
				if visited++; visited > mostOnRings {
					return nil, false
				}
				if wanted(id) {
					e.Add(w.nodes.At(id).deadline, id)
				}
			}
		}
	}
	return e, true
}

// ring returns an iterator over the timers of the ring that tail names.
func (w *Wheel) ring(tail uint32) iter.Seq[uint32] {
	return func(yield func(id uint32) bool) {
		for id := w.nodes.At(tail).next; yield(id) && id != tail; {
			id = w.nodes.At(id).next
		}
	}
}
