package timerwheel

import "github.com/shardq/shardq/internal/chunked"

// Advance moves the wheel towards tick now, and calls fire for each timer whose
// deadline it passes, in the order of deadlines. During fire, the timer is no
// longer filed. fire may call Schedule and Cancel, but not Advance or Rewind.
//
// Advance does at most limit steps of constant cost, and reports whether it
// arrived at now. If it did not arrive, the caller calls Advance again, and can
// release its lock in between. A now before [Wheel.Now] does nothing: see
// [Wheel.Rewind].
//
// Timers of one tick fire in the order in which Schedule set that deadline. The
// exceptions are timers that were moved to the tick from a nearby one, timers
// filed during an unfinished Advance, and all ties after a Rewind during such
// an Advance.
func (w *Wheel) Advance(now uint64, limit int, fire func(id uint32)) (arrived bool) {
	if now < w.now {
		return true // leaves timers unfired that a bounded call left due at w.now
	}
	for range limit {
		id, arrived := w.step(now)
		if arrived {
			return true
		}
		if id != 0 {
			fire(id)
		}
	}
	return false
}

// Rewind moves the wheel back to tick now, for a clock that was set back.
// Timers keep their deadlines. The cost is constant: later calls of Advance
// sort the timers again. Until all are sorted, [Wheel.Next] returns now.
func (w *Wheel) Rewind(now uint64) {
	if now >= w.now {
		return
	}
	for w.occupiedLevels != 0 {
		w.takeOut(w.firstOccupied())
	}
	w.now = now
}

func (w *Wheel) step(now uint64) (due uint32, arrived bool) {
	if w.cascading != 0 {
		return w.refile(), false
	}
	if w.occupiedLevels == 0 {
		return 0, w.arrive(now)
	}
	level, slot := w.firstOccupied()
	start := w.slotStart(level, slot)
	if start > now {
		return 0, w.arrive(now)
	}
	w.now = max(w.now, start)
	if level > 0 {
		w.takeOut(level, slot)
		return 0, false
	}
	// A slot of level 0 is a single tick, so its head is due.
	id := chunked.At(&w.nodes, w.slots[0][slot]).next
	w.remove(id, chunked.At(&w.nodes, id))
	return id, false
}

// arrive ends an Advance. All occupied slots start after now, so place returns
// the same result as before for every filed deadline.
func (w *Wheel) arrive(now uint64) bool {
	w.now = now
	return true
}

// refile moves the head of the cascading ring to its slot, or returns it if it
// is due: at exactly w.now, the start of the slot that the ring came from.
func (w *Wheel) refile() (due uint32) {
	id := chunked.At(&w.nodes, w.cascading).next
	n := chunked.At(&w.nodes, id)
	if n.deadline <= w.now {
		w.remove(id, n)
		return id
	}
	w.unlink(id, n)
	w.file(id, n, n.deadline)
	return 0
}

func (w *Wheel) takeOut(level, slot int) {
	tail := w.slots[level][slot]
	w.slots[level][slot] = 0
	w.vacate(level, slot)
	if w.cascading != 0 {
		first, last := chunked.At(&w.nodes, w.cascading), chunked.At(&w.nodes, tail)
		head, joined := first.next, last.next
		first.next, chunked.At(&w.nodes, joined).previous = joined, w.cascading
		last.next, chunked.At(&w.nodes, head).previous = head, tail
	}
	w.cascading = tail
}
