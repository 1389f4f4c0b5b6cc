package shard

// addAtPriority is Add of an item that is to have a priority at least.
func (s *Set[T]) addAtPriority(item T, priority int) {
	if priority == 0 {
		s.Add(item)
		return
	}
	if s.mayDiffer && s.Reject(item) {
		return
	}
	sh, to := s.addressOf(item, s.hash(item))
	s.refresh()
	sh.mu.Lock()
	fx := sh.addAtLocked(item, to, s.cancelDelayOnAdd, priority)
	sh.mu.Unlock()
	s.after(fx)
}

// addAtLocked is addLocked of an item that is to have a priority at least.
func (sh *shard[T]) addAtLocked(item T, to address, cancelDelay bool, priority int) effects {
	if priority == 0 {
		return sh.addLocked(item, to, cancelDelay)
	}
	if sh.set.closing.refusing.Load() && !sh.takesBack(item, to.hash) { // as in addLocked
		sh.rare.dropped++
		return 0
	}
	id, e := sh.entryFor(item, to)
	sh.needLevels(id)
	if e.waiting() && cancelDelay {
		priority = max(priority, sh.endWait(id, e)) // for the add that waited is served, too
	}
	return sh.applyAt(id, e, priority)
}

// applyInstead adds an item whose delay ends thereby, unless it becomes ready by that.
func (sh *shard[T]) applyInstead(id uint32, e *entry[T]) effects {
	return sh.applyWith(id, e, max(0, sh.endWait(id, e)))
}

// endWait cancels an item's delay, and returns the priority with which it waited.
func (sh *shard[T]) endWait(id uint32, e *entry[T]) (priority int) {
	if sh.table.wishes != nil {
		priority = sh.table.wishes.wait(id)
	}
	sh.stopWaiting(id, e)
	return priority
}

// applyWaited adds an item whose delay has ended, with the priority that it waited with.
func (sh *shard[T]) applyWaited(id uint32, e *entry[T]) {
	priority := sh.table.wishes.wait(id)
	sh.waited(id, e)
	sh.applyWith(id, e, priority)
}

// applyWith is apply of an add that asks for a priority.
func (sh *shard[T]) applyWith(id uint32, e *entry[T], priority int) effects {
	if sh.table.wishes == nil && priority == 0 {
		return sh.apply(id, e)
	}
	if priority != 0 {
		sh.needLevels(id)
	}
	return sh.applyAt(id, e, priority)
}

// applyAt is apply, with levels.
func (sh *shard[T]) applyAt(id uint32, e *entry[T], priority int) effects {
	switch e.step(added) {
	case enqueue:
		sh.count.added++
		sh.table.wishes.setRun(id, priority)
		sh.push(id, e)
		return took | wakes
	case mark:
		sh.count.added++
		if sh.set.ages {
			sh.mark(id)
		}
		sh.table.wishes.setRun(id, priority)
		return took
	}
	if priority > sh.table.wishes.run(id) {
		sh.raise(id, e, priority)
	}
	return sh.merged()
}

// raise gives a higher priority to an item that is ready or dirty.
func (sh *shard[T]) raise(id uint32, e *entry[T], priority int) {
	if e.phase() != ready {
		sh.table.wishes.setRun(id, priority)
		return
	}
	q := sh.queueOf(id)
	q.raise(sh.table, id, e, priority)
	if sh.groups == nil {
		sh.announce(q.levels, false)
	}
}

// GetWithPriority is [Set.Get] that also returns the priority with which the item was ready.
func (s *Set[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	if item, priority, _, ok := s.take(); ok {
		s.setWatchdog()
		return item, priority, false
	}
	var one [1]T
	var its [1]int
	_, shutdown, _ = s.await(nil, hand[T]{items: one[:], priorities: its[:]})
	return one[0], its[0], shutdown
}
