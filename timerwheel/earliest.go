package timerwheel

import (
	"cmp"
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
// of them or share its slot; or, if these are very many, that of a look at all timers.
func (w *Wheel) Earliest(n int, wanted func(id uint32) bool) []uint32 {
	if ids, ok := w.EarliestWithin(mostOnRings, n, wanted); ok {
		return ids
	}
	e := newEarliest(n, wanted)
	for id, deadline := range w.All() {
		if e.kept.Wants(timer{deadline, id}) {
			e.offer(id, deadline)
		}
	}
	return e.ids()
}

// EarliestWithin is [Wheel.Earliest] that visits at most so many timers. It reports
// false if that is too few to tell. So a caller who holds a lock knows for how long.
func (w *Wheel) EarliestWithin(most, n int, wanted func(id uint32) bool) (ids []uint32, ok bool) {
	if n <= 0 {
		return nil, true
	}
	e := newEarliest(n, wanted)
	if !w.offerRing(e, w.cascading, &most) {
		return nil, false
	}
	e.offered = 0 // what is being sorted may be later than what is in the slots
	for level := range w.slots {
		for slots := w.occupied[level]; slots != 0 && e.offered < n; slots &= slots - 1 {
			if !w.offerRing(e, w.slots[level][bits.TrailingZeros64(slots)], &most) {
				return nil, false
			}
		}
	}
	return e.ids(), true
}

// offerRing offers the timers of the ring that tail names. It reports false when as
// many as left says have been visited.
func (w *Wheel) offerRing(e *earliest, tail uint32, left *int) (ok bool) {
	for id := tail; id != 0; {
		if *left--; *left < 0 {
			return false
		}
		id = w.nodes.At(id).next // so the head comes first, and the tail last
		e.offer(id, w.nodes.At(id).deadline)
		if id == tail {
			break
		}
	}
	return true
}

// An earliest keeps those timers that come first.
type earliest struct {
	kept   *least.Selection[timer]
	wanted func(id uint32) bool
	// offered counts the timers that were offered and are wanted.
	offered int
}

type timer struct {
	deadline uint64
	id       uint32
}

func newEarliest(n int, wanted func(id uint32) bool) *earliest {
	byDeadline := func(a, b timer) int { return cmp.Compare(a.deadline, b.deadline) }
	return &earliest{kept: least.New(n, byDeadline), wanted: wanted}
}

func (e *earliest) offer(id uint32, deadline uint64) {
	if e.wanted(id) {
		e.offered++
		e.kept.Add(timer{deadline, id})
	}
}

func (e *earliest) ids() []uint32 {
	timers := e.kept.Values()
	ids := make([]uint32, len(timers))
	for i := range timers {
		ids[i] = timers[i].id
	}
	return ids
}
