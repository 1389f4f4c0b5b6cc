package timerwheel

import (
	"math"
	"math/bits"

	"github.com/shardq/shardq/internal/chunked"
)

// A Wheel holds timers and tells which are due. The zero Wheel is empty and
// stands at tick 0. It is not safe for concurrent use and must not be copied.
type Wheel struct {
	// now is the tick that Advance has come to. Every filed deadline is later,
	// save for those that the present Advance is about to hand out.
	now uint64
	// occupiedLevels has a bit for each level that has an occupied slot.
	occupiedLevels uint16
	// occupied has, for each level, a bit for each slot that holds a timer.
	occupied [levels]uint64
	// slots holds, for each level, the tail of each slot's ring. A level is
	// allocated with its first timer.
	slots [levels]*[slotsPerLevel]uint32
	// cascading is the tail of a ring that was taken out of its slot and is
	// being filed anew, a bounded number of timers at a time.
	cascading uint32
	filed     int
	nodes     chunked.Array[node]
}

// node is the part of a timer that the wheel keeps: 16 bytes without pointers, so
// that the garbage collector never looks inside.
type node struct {
	deadline uint64
	// next and previous link the ring of a slot. next is 0 if and only if the
	// timer is not filed.
	next, previous uint32
}

// New returns an empty wheel that stands at tick now.
func New(now uint64) *Wheel { return &Wheel{now: now} }

// Now returns the tick that the wheel stands at. While Advance calls its
// function, that is the deadline of the timer in hand.
func (w *Wheel) Now() uint64 { return w.now }

// Len returns the number of filed timers.
func (w *Wheel) Len() int { return w.filed }

// Deadline returns the deadline of timer id, and whether it is filed.
func (w *Wheel) Deadline(id uint32) (deadline uint64, filed bool) {
	n := w.nodes.Lookup(id)
	if n == nil || n.next == 0 {
		return 0, false
	}
	return n.deadline, true
}

// Next returns the tick at which Advance will next have work, and whether there
// is any timer at all. That is the earliest deadline, exactly, unless that
// deadline is far off and shares its slot with many others: then it is a tick
// somewhat before, at which Advance sorts them into finer slots. So a driver that
// sleeps until Next wakes once per deadline, and rarely in between. Next never
// returns a tick after the earliest deadline.
func (w *Wheel) Next() (tick uint64, ok bool) {
	if w.cascading != 0 {
		return w.now, true // sorting is under way and wants to go on
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

// earliestInRing returns the earliest deadline of a ring, or otherwise if the
// ring is too long to look through.
func (w *Wheel) earliestInRing(tail uint32, otherwise uint64) uint64 {
	const longest = 32
	earliest := uint64(math.MaxUint64)
	id := tail
	for range longest {
		n := w.nodes.At(id)
		earliest = min(earliest, n.deadline)
		id = n.next
		if id == tail {
			return earliest
		}
	}
	return otherwise
}

// firstOccupied returns the place of the earliest timers. Every timer of a level
// is earlier than those of the next level, and slots are in order within a level,
// because both follow from the highest bits in which a deadline differs from now.
func (w *Wheel) firstOccupied() (level, slot int) {
	level = bits.TrailingZeros16(w.occupiedLevels)
	return level, bits.TrailingZeros64(w.occupied[level])
}
