package timerwheel

// Schedule files timer id under deadline, or moves it there. If deadline is not
// after [Wheel.Now], Schedule returns false and leaves the timer unfiled: the
// caller treats it as due. The cost is constant, apart from the occasional
// allocation.
//
// The caller chooses the ids, usually positions in a slice of its own. Memory
// is proportional to their spread. Schedule panics if id is 0.
func (w *Wheel) Schedule(id uint32, deadline uint64) bool {
	if id == 0 {
		panic("timerwheel: id is 0, want 1 or more")
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

// Cancel removes timer id from the wheel and reports whether it was filed.
func (w *Wheel) Cancel(id uint32) bool {
	n := w.nodes.Lookup(id)
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
	w.link(id, n, level, slot)
}

// move changes the deadline of a filed timer. If both deadlines have the same
// slot, only the deadline is overwritten, as Linux does for MOD_TIMER_REDUCE.
// That covers most moves of a far timer.
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
	w.nodes.Release(id)
}
