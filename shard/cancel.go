package shard

// Canceled says what a Cancel took back.
type Canceled struct {
	// Ready: the item was ready, and is no more.
	Ready bool
	// Dirty: the item is in processing, and was to run once more after that.
	Dirty bool
	// Waiting: a delay of the item was running.
	Waiting bool
}

// Any reports whether anything was taken back.
func (c Canceled) Any() bool { return c != Canceled{} }

// Cancel takes back all adds of item that no processing has begun for, and says which
// there were: the item is not ready any more, does not wait, and is not dirty. If it is
// in processing, that goes on, and its Done is still owed. So no processing of item
// begins after a Cancel without an Add after it.
func (s *Set[T]) Cancel(item T) (was Canceled) {
	sh, hash := s.locate(item)
	was, fx := sh.cancel(item, hash)
	// What parked consumers wait for may have been held back, and be gone.
	if s.group != nil && was.Ready && s.mayLeave() {
		fx |= wakes
	}
	s.after(fx)
	return was
}

// cancel is Cancel of an item of the shard. It takes the lock.
func (sh *shard[T]) cancel(item T, hash uint32) (was Canceled, fx effects) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	id := sh.find(item, hash)
	if id == 0 {
		return was, fx
	}
	e := sh.table.at(id)
	if e.waiting() {
		sh.endDelay(id, e)
		was.Waiting = true
	}
	what := e.step(canceled)
	was.Ready, was.Dirty = what == withdraw, what == unmark
	if was.Ready {
		sh.pull(id, e)
	}
	if was.Ready || was.Dirty {
		sh.table.times.onCancel(id, what)
	}
	if was.Any() {
		sh.rare.canceled++
	}
	if e.phase() == idle {
		sh.forget(id, e, position{})
	}
	return was, sh.reportsDue()
}
