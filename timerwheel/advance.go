package timerwheel

// Advance moves the wheel towards tick now and calls fire, once each, for the
// timers whose deadlines it passes, in the order of their deadlines. Timers of one
// tick come out in the order in which Schedule gave them that deadline, with three
// exceptions: one that was moved to it from a nearby tick may come out before
// others that had it earlier; so may one that was filed while an Advance was
// unfinished, by fire or between bounded calls; and a Rewind of an unfinished
// Advance does not keep the order of ties. (Filing behind what an unfinished
// Advance has still to sort would keep it, and would let a steady stream of new
// timers hold up those that are due.)
//
// A timer is no longer filed when fire is called for it; fire may call Schedule and
// Cancel, but not Advance or Rewind.
//
// It does at most limit steps, each of them a constant amount of work (hand out
// one timer, sort one timer into a finer slot, or open a slot), and reports
// whether it arrived at now. If it did not, nothing is lost: call it again. That
// lets a caller who holds a lock put it down in between, whatever the number of
// timers due. A limit below 1 does nothing.
//
// If now is before [Wheel.Now] nothing happens: see [Wheel.Rewind].
func (w *Wheel) Advance(now uint64, limit int, fire func(id uint32)) (arrived bool) {
	if now < w.now {
		return true // not even what a bounded call left due at w.now
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

// Rewind moves the wheel back to tick now, for a clock that was set back: timers
// keep their deadlines. It does nothing if now is not before [Wheel.Now]. The cost
// is constant: the timers are sorted anew by the next calls of Advance, and until
// then [Wheel.Next] asks for one at once.
func (w *Wheel) Rewind(now uint64) {
	if now >= w.now {
		return
	}
	for w.occupiedLevels != 0 {
		w.takeOut(w.firstOccupied())
	}
	w.now = now
}

// step does one piece of the way to tick now. It returns a timer that is due, if
// the piece yielded one, and whether there was nothing left to do.
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
	// A slot of level 0 is a single tick: its head is due.
	id := w.nodes.At(w.slots[0][slot]).next
	w.remove(id, w.nodes.At(id))
	return id, false
}

// arrive ends an Advance. All occupied slots start after now, so that place
// returns for every filed deadline what it returned before.
func (w *Wheel) arrive(now uint64) bool {
	w.now = now
	return true
}

// refile moves the head of the cascading ring to the slot where it belongs now, or
// returns it if it is due. What is due here is due at exactly w.now, the start of
// the slot that the ring came from; all others of the wheel are later.
func (w *Wheel) refile() (due uint32) {
	id := w.nodes.At(w.cascading).next
	n := w.nodes.At(id)
	if n.deadline <= w.now {
		w.remove(id, n)
		return id
	}
	w.unlink(id, n)
	w.file(id, n, n.deadline)
	return 0
}

// takeOut moves the ring of a slot to the end of the cascading ring.
func (w *Wheel) takeOut(level, slot int) {
	tail := w.slots[level][slot]
	w.slots[level][slot] = 0
	w.vacate(level, slot)
	if w.cascading != 0 {
		w.splice(tail)
	}
	w.cascading = tail
}

// splice joins the ring that tail names to the end of the cascading ring.
func (w *Wheel) splice(tail uint32) {
	first, last := w.nodes.At(w.cascading), w.nodes.At(tail)
	head, joined := first.next, last.next
	first.next, w.nodes.At(joined).previous = joined, w.cascading
	last.next, w.nodes.At(head).previous = head, tail
}
