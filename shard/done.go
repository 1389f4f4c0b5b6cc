package shard

// Done ends the processing of item, which a Get returned. If it was added
// meanwhile, it becomes ready again; otherwise the queue forgets it. A Done of an
// item that is not in processing has no effect but to be counted.
func (s *Set[T]) Done(item T) {
	hash := s.hash(item)
	sh := s.shardOf(item, hash)
	outcome := sh.done(item, uint32(hash))
	switch outcome.effect {
	case ignore:
		s.report(DoneWithoutGet, item)
	case enqueue:
		s.wake()
	}
	if outcome.quiet {
		s.drained.settle()
	}
}

type doneOutcome struct {
	effect effect
	// quiet says that a drain waits for the shard and need not any more.
	quiet bool
}

func (sh *shard[T]) done(item T, hash uint32) (outcome doneOutcome) {
	sh.mu.Lock()
	var id uint32
	var p position
	if sh.table != nil {
		id, p = sh.table.find(hash, item)
	}
	if id == 0 {
		sh.rare.misused++
		sh.mu.Unlock()
		return doneOutcome{effect: ignore}
	}
	e := sh.table.at(id)
	outcome.effect = e.step(finished)
	switch outcome.effect {
	case ignore:
		sh.rare.misused++
	case enqueue:
		sh.processing--
		sh.push(id, e)
	case retire:
		sh.processing--
		if !e.waiting {
			sh.forget(id, p)
		}
		outcome.quiet = sh.settles()
	}
	sh.mu.Unlock()
	return outcome
}

// forget removes an entry that is idle and does not wait. Nothing in the queue
// refers to its item afterwards.
func (sh *shard[T]) forget(id uint32, p position) {
	sh.table.remove(id, p)
	if sh.table.tired() {
		// Both are empty: give all their storage back.
		sh.table, sh.wheel = nil, nil
	}
}
