package timerwheel

import (
	"cmp"
	"iter"
	"math/bits"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/internal/topk"
)

// All returns an iterator over the ids and deadlines of all timers, in the
// order of the ids. The caller must not change the wheel during the iteration.
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

// ringLimit is the number of timers that Earliest visits along the rings. A
// ring is a list scattered over memory, so visiting a million timers along a
// ring takes twenty times as long as visiting all nodes in order.
const ringLimit = 4096

// Earliest returns the ids of the n earliest timers for which wanted returns
// true, in the order of their deadlines. If there are fewer, it returns all of
// them. The cost is proportional to the number of timers before the last of
// them or in its slot. If that number is large, Earliest visits all timers
// once.
func (w *Wheel) Earliest(n int, wanted func(id uint32) bool) []uint32 {
	if ids, ok := w.EarliestWithin(ringLimit, n, wanted); ok {
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

// EarliestWithin is like [Wheel.Earliest], but visits at most that many timers,
// so that a caller that holds a lock can bound the time. It returns false if it
// would have to visit more.
func (w *Wheel) EarliestWithin(most, n int, wanted func(id uint32) bool) (ids []uint32, ok bool) {
	if n <= 0 {
		return nil, true
	}
	e := newEarliest(n, wanted)
	if !w.offerRing(e, w.cascading, &most) {
		return nil, false
	}
	e.offered = 0 // a timer being sorted may be later than those in slots
	for level := range w.slots {
		for slots := w.occupied[level]; slots != 0 && e.offered < n; slots &= slots - 1 {
			if !w.offerRing(e, w.slots[level][bits.TrailingZeros64(slots)], &most) {
				return nil, false
			}
		}
	}
	return e.ids(), true
}

// offerRing offers the timers of the ring that tail names. It subtracts the
// timers that it visits from left, and returns false when left is used up.
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

// An earliest collects the earliest timers.
type earliest struct {
	kept   *topk.Selection[timer]
	wanted func(id uint32) bool
	// offered counts the wanted timers that were offered.
	offered int
}

type timer struct {
	deadline uint64
	id       uint32
}

func newEarliest(n int, wanted func(id uint32) bool) *earliest {
	byDeadline := func(a, b timer) int { return cmp.Compare(a.deadline, b.deadline) }
	return &earliest{kept: topk.New(n, byDeadline), wanted: wanted}
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
