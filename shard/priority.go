package shard

import "context"

// addAtPriority is Add of an item that is to have a priority at least.
func (s *Set[T]) addAtPriority(item T, priority int) {
	if priority == 0 {
		s.Add(item)
		return
	}
	if s.mayDiffer && s.Reject(item) {
		return
	}
	s.refresh()
	hash := s.hash(item)
	sh := s.shardOf(item, hash)
	sh.mu.Lock()
	outcome := sh.addAtLocked(item, uint32(hash), s.cancelDelayOnAdd, priority)
	inVain := sh.inVain(outcome)
	sh.mu.Unlock()
	switch {
	case outcome == enqueue:
		s.wake()
	case inVain:
		s.yield()
	}
	s.room.Look() // last, for it may panic
}

// addAtLocked is addLocked of an item that is to have a priority at least.
func (sh *shard[T]) addAtLocked(item T, hash uint32, cancelDelay bool, priority int) (outcome effect) {
	if sh.levels == nil && priority == 0 {
		return sh.addLocked(item, hash, cancelDelay)
	}
	if sh.set.closing.refusing.Load() { // as in addLocked
		sh.rare.dropped++
		return ignore
	}
	sh.needLevels()
	id, e := sh.entryFor(item, hash)
	if e.waiting() && cancelDelay {
		priority = max(priority, sh.levels.waits.of(id)) // for the add that waited is served, too
		sh.stopWaiting(id, e)
	}
	return sh.applyAt(id, e, priority)
}

// applyInstead adds an item whose delay ends thereby, unless it becomes ready by that.
func (sh *shard[T]) applyInstead(id uint32, e *entry[T]) (outcome effect) {
	if sh.levels == nil {
		sh.stopWaiting(id, e)
		return sh.apply(id, e)
	}
	priority := max(0, sh.levels.waits.of(id))
	sh.stopWaiting(id, e)
	return sh.applyAt(id, e, priority)
}

// applyWaited adds an item whose delay has ended, with the priority that it waited with.
func (sh *shard[T]) applyWaited(id uint32, e *entry[T]) {
	priority := sh.levels.waits.of(id)
	sh.waited(id, e)
	sh.applyAt(id, e, priority)
}

// applyAt is apply, with levels.
func (sh *shard[T]) applyAt(id uint32, e *entry[T], priority int) (outcome effect) {
	outcome = e.step(added)
	switch outcome {
	case enqueue:
		sh.count.added++
		sh.table.setRun(id, priority)
		sh.file(sh.levels.of(priority), id, e)
		sh.stamp(id)
	case mark:
		sh.count.added++
		sh.table.setRun(id, priority)
	case merge:
		sh.count.merged++
		sh.fruitless++
		if priority > sh.table.run(id) {
			sh.raise(id, e, priority)
		}
	}
	return outcome
}

// raise gives a higher priority to an item that is ready or dirty.
func (sh *shard[T]) raise(id uint32, e *entry[T], priority int) {
	l, before := sh.levels, sh.table.run(id)
	sh.table.setRun(id, priority)
	switch {
	case e.phase() != ready:
	case sh.ready() == 1:
		// It stays where it is. Were it taken out and put back, the shard's ready bit
		// would go out for a moment, in which a consumer could fall asleep beside it.
		l.unrank(l.served)
		l.serve(l.of(priority))
		l.rank(l.served)
		sh.announce(l.served.class)
	default:
		sh.leave(l.of(before), id, e)
		sh.file(l.of(priority), id, e)
	}
}

// wishToWait raises the priority with which an item waits on.
func (sh *shard[T]) wishToWait(id uint32, priority int) {
	if sh.levels != nil || priority != 0 {
		l := sh.needLevels()
		l.waits.set(id, max(priority, l.waits.of(id)))
	}
}

// beginWish sets the priority with which an item begins to wait.
func (sh *shard[T]) beginWish(id uint32, priority int) {
	if sh.levels != nil || priority != 0 {
		sh.needLevels().waits.set(id, priority)
	}
}

// GetWithPriority is [Set.Get] that also returns the priority with which the item was ready.
func (s *Set[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	if item, priority, ok := s.take(); ok {
		s.setWatchdog()
		return item, priority, false
	}
	var one [1]T
	var its [1]int
	_, shutdown, _ = s.await(nil, hand[T]{one[:], its[:]})
	return one[0], its[0], shutdown
}

// GetContextWithPriority is [Set.GetWithPriority] for as long as ctx lasts, with the errors
// of [Set.GetContext].
func (s *Set[T]) GetContextWithPriority(ctx context.Context) (item T, priority int, err error) {
	if err := ctx.Err(); err != nil {
		return item, 0, err
	}
	if item, priority, ok := s.take(); ok {
		s.setWatchdog()
		return item, priority, nil
	}
	var one [1]T
	var its [1]int
	_, err = s.awaitContext(ctx, hand[T]{one[:], its[:]})
	return one[0], its[0], err
}
