package timerwheel

// Schedule files timer id under deadline, or moves it there if it is filed
// already. It reports whether it did: a deadline that is not after [Wheel.Now] has
// passed, and then the timer is left unfiled, for the caller to treat as due.
//
// Ids are the caller's, as a rule the position of what the timer is for in a
// slice: memory is proportional to the spread of the ids in use. Zero is no id:
// Schedule panics if given it.
//
// The cost is constant, but for the allocation of a chunk of nodes now and then.
func (w *Wheel) Schedule(id uint32, deadline uint64) bool {
	if id == 0 {
		panic("timerwheel: 0 is not an id")
	}
	if deadline <= w.now {
		w.Cancel(id)
		return false
	}
	if n := w.nodes.Lookup(id); n != nil && n.next != 0 {
		w.move(id, n, deadline)
		return true
	}
	n := w.nodes.Hold(id)
	w.filed++
	w.file(id, n, deadline)
	return true
}

// Cancel takes timer id out of the wheel at once, and reports whether it was
// filed. The cost is constant.
func (w *Wheel) Cancel(id uint32) bool {
	n := w.nodes.Lookup(id)
	if n == nil || n.next == 0 {
		return false
	}
	w.remove(id, n)
	return true
}

// file puts the node n, not in any ring, where deadline belongs.
func (w *Wheel) file(id uint32, n *node, deadline uint64) {
	n.deadline = deadline
	level, slot := place(w.now, deadline)
	w.link(id, n, level, slot)
}

// move gives a filed timer another deadline. If that falls into the slot that the
// timer is in already, the deadline alone is overwritten, as Linux does for
// MOD_TIMER_REDUCE (kernel/time/timer.c): most reschedules of a far timer.
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

// remove takes a filed node out of its ring and gives its cell back.
func (w *Wheel) remove(id uint32, n *node) {
	w.unlink(id, n)
	n.deadline = 0
	w.filed--
	w.nodes.Release(id)
}
