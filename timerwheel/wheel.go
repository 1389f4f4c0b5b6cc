package timerwheel

import (
	"math"
	"math/bits"

	"github.com/shardq/shardq/internal/chunked"
)

// A Wheel holds timers and reports which are due. It must not be copied and is
// not safe for concurrent use. The zero Wheel is empty, at tick 0.
type Wheel struct {
	now            uint64                         // every filed deadline is later, unless an Advance is unfinished
	occupiedLevels uint16                         // a bit for each level that has an occupied slot
	occupied       [levels]uint64                 // a bit for each slot that holds a timer
	slots          [levels]*[slotsPerLevel]uint32 // the tails of the rings, once a level has had a timer
	cascading      uint32                         // the tail of a ring that left its slot, and is being filed again
	filed          int
	nodes          chunked.Array[node]
}

// node has no pointers, so that the garbage collector never scans it.
type node struct {
	deadline uint64
	// next and previous link a ring. next is 0 if the timer is not filed.
	next, previous uint32
}

// New returns an empty wheel whose current tick is now.
func New(now uint64) *Wheel { return &Wheel{now: now} }

// Now returns the current tick or, during fire, the timer's deadline.
func (w *Wheel) Now() uint64 { return w.now }

// Len returns the number of filed timers.
func (w *Wheel) Len() int { return w.filed }

// Deadline returns the deadline of timer id, and whether it is filed.
func (w *Wheel) Deadline(id uint32) (deadline uint64, filed bool) {
	n := chunked.Lookup(&w.nodes, id)
	if n == nil || n.next == 0 {
		return 0, false
	}
	return n.deadline, true
}

// Next returns the tick at which Advance next has work, if there is any timer.
// It may be before the earliest deadline, if that is far off.
func (w *Wheel) Next() (tick uint64, ok bool) {
	if w.cascading != 0 {
		return w.now, true // an unfinished sort has more to do
	}
	if w.occupiedLevels == 0 {
		return 0, false
	}
	level, slot := w.firstOccupied()
	start := w.slotStart(level, slot)
	if level == 0 {
		return start, true
	}
	return max(start, w.earliestInRing(w.slots[level][slot], start)), true
}

func (w *Wheel) earliestInRing(tail uint32, otherwise uint64) uint64 {
	const longest = 32
	earliest := uint64(math.MaxUint64)
	id := tail
	for range longest {
		n := chunked.At(&w.nodes, id)
		earliest = min(earliest, n.deadline)
		id = n.next
		if id == tail {
			return earliest
		}
	}
	return otherwise
}

// firstOccupied: all timers of a level are earlier than those of the next.
func (w *Wheel) firstOccupied() (level, slot int) {
	level = bits.TrailingZeros16(w.occupiedLevels)
	return level, bits.TrailingZeros64(w.occupied[level])
}

// Schedule files timer id under deadline, or moves it there. If deadline is not
// after [Wheel.Now], Schedule returns false and leaves the timer unfiled: the
// caller treats it as due.
//
// The caller chooses the ids. Memory is proportional to their spread.
func (w *Wheel) Schedule(id uint32, deadline uint64) bool {
	if id == 0 {
		panic("timerwheel: id is 0, want 1 or more")
	}
	if deadline <= w.now {
		w.Cancel(id)
		return false
	}
	if n := chunked.Lookup(&w.nodes, id); n != nil && n.next != 0 {
		w.move(id, n, deadline)
		return true
	}
	n := chunked.Hold(&w.nodes, id)
	w.filed++
	w.file(id, n, deadline)
	return true
}

// Cancel removes timer id from the wheel and reports whether it was filed.
func (w *Wheel) Cancel(id uint32) bool {
	n := chunked.Lookup(&w.nodes, id)
	if n == nil || n.next == 0 {
		return false
	}
	w.remove(id, n)
	return true
}

// file links a node at the place of deadline. During an unfinished Advance this
// breaks ties out of order. Filing behind the cascading ring would keep them,
// but a steady stream of new timers could then hold up those that are due.
func (w *Wheel) file(id uint32, n *node, deadline uint64) {
	n.deadline = deadline
	level, slot := place(w.now, deadline)
	if w.slots[level] == nil {
		w.slots[level] = new([slotsPerLevel]uint32)
	}
	w.append(&w.slots[level][slot], id, n)
	w.occupied[level] |= 1 << slot
	w.occupiedLevels |= 1 << level
}

// move only overwrites a deadline of the same slot, as Linux does for
// MOD_TIMER_REDUCE. That covers most moves of a far timer.
func (w *Wheel) move(id uint32, n *node, deadline uint64) {
	fromLevel, fromSlot := place(w.now, n.deadline)
	toLevel, toSlot := place(w.now, deadline)
	if fromLevel == toLevel && fromSlot == toSlot {
		n.deadline = deadline
		return
	}
	w.unlink(id, n)
	w.file(id, n, deadline)
}

func (w *Wheel) remove(id uint32, n *node) {
	w.unlink(id, n)
	n.deadline = 0
	w.filed--
	chunked.Release(&w.nodes, id)
}
