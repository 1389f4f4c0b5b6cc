package timerwheel

import "math/bits"

// Upcoming appends to ids the timers that come first: at least n of them, or all if there
// are fewer, such that no other timer is earlier than any of these. They are in no
// particular order, and more than n as far as they share a slot; right after a [Wheel.Rewind]
// they are all timers there are. The cost is that of what it appends.
func (w *Wheel) Upcoming(n int, ids []uint32) []uint32 {
	enough := len(ids) + n
	ids = w.appendRing(ids, w.cascading)
	for level := range w.slots {
		for slots := w.occupied[level]; slots != 0 && len(ids) < enough; slots &= slots - 1 {
			ids = w.appendRing(ids, w.slots[level][bits.TrailingZeros64(slots)])
		}
	}
	return ids
}

// appendRing appends the timers of the ring that tail names, 0 being an empty one.
func (w *Wheel) appendRing(ids []uint32, tail uint32) []uint32 {
	for id := tail; id != 0; {
		id = w.nodes.At(id).next
		ids = append(ids, id)
		if id == tail {
			break
		}
	}
	return ids
}
