package shard

// Done ends the processing of item, which a Get returned. If it was added
// meanwhile, it becomes ready again; otherwise the queue forgets it. A Done of an
// item that is not in processing has no effect but to be counted.
func (s *Set[T]) Done(item T) {
	hash := s.hash(item)
	if sh := s.shardOf(item, hash); s.ages {
		s.doneNow(sh, item, uint32(hash))
	} else {
		s.doneIn(sh, item, uint32(hash))
	}
}

// doneNow is doneIn by a clock that is read before. If that panics, the item is Done
// all the same.
func (s *Set[T]) doneNow(sh *shard[T], item T, hash uint32) {
	defer s.doneIn(sh, item, hash)
	s.refreshForWork()
}

// doneIn is Done of an item of the shard. User code, the hooks, comes last.
func (s *Set[T]) doneIn(sh *shard[T], item T, hash uint32) {
	sh.mu.Lock()
	outcome := sh.doneLocked(item, hash)
	sh.mu.Unlock()
	if outcome.wakes() {
		s.wake()
	}
	if outcome.due != 0 {
		s.settle(outcome.due)
	}
	if outcome.effect == ignore {
		s.report(DoneWithoutGet, item) // nothing was released, so there is no watermark to report
	} else if s.room != nil {
		s.room.Look() // last, for it may panic
	}
}

type doneOutcome struct {
	effect effect
	// freed says that a group that was held back is not any more.
	freed bool
	// due has the reports that the shard owed.
	due reports
}

// wakes reports whether there is something for a sleeper.
func (o doneOutcome) wakes() bool { return o.effect == enqueue || o.freed }

func (sh *shard[T]) doneLocked(item T, hash uint32) (outcome doneOutcome) {
	id, p := sh.find(item, hash)
	if id == 0 {
		sh.rare.misused++
		return doneOutcome{effect: ignore}
	}
	if sh.groups != nil {
		sh.seatFor(id)
	}
	e := sh.table.at(id)
	outcome.effect = e.step(finished)
	switch outcome.effect {
	case ignore:
		sh.rare.misused++
	case enqueue:
		sh.processing--
		if sh.set.ages {
			sh.end(id, e)
		}
		if sh.groups != nil {
			outcome.freed = sh.endInGroup()
		}
		sh.push(id, e)
	case retire:
		sh.processing--
		if sh.set.ages {
			sh.end(id, e)
		}
		if sh.groups != nil {
			outcome.freed = sh.endInGroup()
		}
		if e.waiting() {
			sh.stamp(id)
		} else {
			sh.forget(id, p)
		}
		if sh.owes != 0 {
			outcome.due = sh.reportsDue()
		}
	}
	return outcome
}

// find looks item up. The id is 0 if the shard knows nothing of it.
func (sh *shard[T]) find(item T, hash uint32) (id uint32, p position) {
	if sh.table != nil {
		id, p = sh.table.find(hash, item)
	}
	return id, p
}

// forget removes an entry that is idle and does not wait. Nothing in the queue
// refers to its item afterwards.
func (sh *shard[T]) forget(id uint32, p position) {
	if sh.set.room != nil {
		sh.set.room.Leave(1)
	}
	if sh.groups != nil {
		sh.leaveGroup(id)
	}
	sh.table.remove(id, p)
	if sh.table.tired() {
		// Both are empty: give all their storage back.
		sh.table, sh.wheel, sh.groups = nil, nil, nil
		sh.dropMarks()
		sh.dropLevels()
	} else if sh.levels != nil && sh.table.live == 0 && sh.levelsTired() {
		sh.table.wishes = nil
		sh.dropLevels()
	}
}
