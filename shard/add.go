package shard

import "runtime"

// Add makes item ready, unless it is ready already; if it is in processing, it
// becomes ready at its Done. After a shutdown began, Add drops the item. It never
// blocks, but for the shard's lock.
func (s *Set[T]) Add(item T) {
	if s.differs(item) {
		s.reject(item)
		return
	}
	hash := s.hash(item)
	sh := s.shardOf(item, hash)
	switch sh.add(item, uint32(hash)) {
	case enqueue:
		s.wake()
	case yield:
		runtime.Gosched()
	}
}

// add reports whether the item became ready.
func (sh *shard[T]) add(item T, hash uint32) (outcome effect) {
	sh.mu.Lock()
	// Read under the lock: a shutdown sets the flag and then passes through every
	// lock once, so an Add that saw it clear has landed before the drain looks.
	if sh.set.closing.begun.Load() {
		sh.count.dropped++
		sh.mu.Unlock()
		return ignore
	}
	id, e := sh.entryFor(item, hash)
	if e.waiting && sh.set.cancelDelayOnAdd {
		sh.stopWaiting(id, e)
	}
	outcome = sh.apply(id, e)
	sh.mu.Unlock()
	return outcome
}

// entryFor returns the item's entry, a new idle one if it has none.
func (sh *shard[T]) entryFor(item T, hash uint32) (id uint32, e *entry[T]) {
	id, p := sh.table.find(hash, item)
	if id == 0 {
		return sh.table.insert(p, item)
	}
	return id, sh.table.at(id)
}

// apply adds an item that has an entry, and reports whether it became ready.
func (sh *shard[T]) apply(id uint32, e *entry[T]) (outcome effect) {
	outcome = e.step(added)
	switch outcome {
	case enqueue:
		sh.count.added++
		sh.push(id, e)
	case mark:
		sh.count.added++
	case merge:
		sh.count.merged++
		sh.fruitless++
		if sh.fruitless%64 == 0 && sh.set.lot.searching.Load() {
			return yield
		}
	}
	return outcome
}
