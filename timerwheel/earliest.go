package timerwheel

import (
	"cmp"
	"math/bits"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/internal/topk"
)

// Chunks returns the number of chunks, for [Wheel.Deadlines].
func (w *Wheel) Chunks() int { return chunked.Chunks(&w.nodes) }

// Deadlines appends the deadlines of the timers of a chunk, in no order.
func (w *Wheel) Deadlines(chunk int, deadlines []uint64) []uint64 {
	if chunk >= chunked.Chunks(&w.nodes) {
		return deadlines
	}
	nodes := chunked.Chunk(&w.nodes, chunk)
	for i := range nodes {
		if nodes[i].next != 0 {
			deadlines = append(deadlines, nodes[i].deadline)
		}
	}
	return deadlines
}

// EarliestWithin returns the ids of the n earliest timers that are wanted, in
// order, or false if the number of timers to visit would exceed most.
func (w *Wheel) EarliestWithin(most, n int, wanted func(id uint32) bool) (ids []uint32, ok bool) {
	if n <= 0 {
		return nil, true
	}
	byDeadline := func(a, b timer) int { return cmp.Compare(a.deadline, b.deadline) }
	e := &earliest{kept: topk.New(n, byDeadline), wanted: wanted, left: most}
	if !e.offerRing(w, w.cascading) {
		return nil, false
	}
	e.offered = 0 // a timer being sorted may be later than those in slots
	for level := range w.slots {
		for slots := w.occupied[level]; slots != 0 && e.offered < n; slots &= slots - 1 {
			if !e.offerRing(w, w.slots[level][bits.TrailingZeros64(slots)]) {
				return nil, false
			}
		}
	}
	for _, t := range e.kept.Values() {
		ids = append(ids, t.id)
	}
	return ids, true
}

type earliest struct {
	kept    *topk.Selection[timer]
	wanted  func(id uint32) bool
	offered int // the wanted timers that were offered
	left    int // the timers that may still be visited
}

type timer struct {
	deadline uint64
	id       uint32
}

// offerRing is no method of a Wheel: a program with a queue would compile the
// Selection again, with all that the methods of a Wheel mention.
func (e *earliest) offerRing(w *Wheel, tail uint32) (ok bool) {
	for id := tail; id != 0; {
		if e.left--; e.left < 0 {
			return false
		}
		id = chunked.At(&w.nodes, id).next // so the head comes first, and the tail last
		if e.wanted(id) {
			e.offered++
			e.kept.Add(timer{chunked.At(&w.nodes, id).deadline, id})
		}
		if id == tail {
			break
		}
	}
	return true
}
