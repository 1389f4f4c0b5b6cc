package timerwheel

import (
	"math/bits"

	"github.com/shardq/shardq/internal/chunked"
)

const (
	levelBits     = 6
	slotsPerLevel = 1 << levelBits
	slotMask      = slotsPerLevel - 1
	// levels is the number of digits of levelBits in a uint64.
	levels = (64 + levelBits - 1) / levelBits
)

// place returns the level of the highest base-64 digit in which the current
// tick and a deadline differ, and the deadline's digit there.
func place(now, deadline uint64) (level, slot int) {
	level = (63 - bits.LeadingZeros64(now^deadline|slotMask)) / levelBits
	return level, int(deadline >> (level * levelBits) & slotMask)
}

// slotStart: now's digits above the level, the slot's number, then zeros.
func (w *Wheel) slotStart(level, slot int) uint64 {
	span := uint64(1) << (level * levelBits)
	above := ^(span<<levelBits - 1) // 0 at the top level, where the shift overflows
	return w.now&above | uint64(slot)*span
}

// append: the tail names the ring, and its next is the head.
func (w *Wheel) append(tail *uint32, id uint32, n *node) {
	if *tail == 0 {
		n.next, n.previous = id, id
	} else {
		last := chunked.At(&w.nodes, *tail)
		n.next, n.previous = last.next, *tail
		chunked.At(&w.nodes, last.next).previous = id
		last.next = id
	}
	*tail = id
}

func (w *Wheel) unlink(id uint32, n *node) {
	if id == w.cascading {
		w.cascading = w.detach(id, n)
		return
	}
	// A timer of the cascading ring that is not its tail also gets here. The
	// slot of its deadline then has another tail, so only the links change.
	level, slot := place(w.now, n.deadline)
	if ring := w.slots[level]; ring != nil && ring[slot] == id {
		ring[slot] = w.detach(id, n)
		if ring[slot] == 0 {
			w.vacate(level, slot)
		}
		return
	}
	w.detach(id, n)
}

// detach returns the node before n in the ring, or 0 if n was alone.
func (w *Wheel) detach(id uint32, n *node) (tail uint32) {
	tail = n.previous
	if tail == id {
		tail = 0
	} else {
		chunked.At(&w.nodes, n.previous).next = n.next
		chunked.At(&w.nodes, n.next).previous = n.previous
	}
	n.next, n.previous = 0, 0
	return tail
}

func (w *Wheel) vacate(level, slot int) {
	w.occupied[level] &^= 1 << slot
	if w.occupied[level] == 0 {
		w.occupiedLevels &^= 1 << level
	}
}
