package shard

import "runtime"

// Add makes item ready. It has no effect if item is ready already. If item is
// in processing, it becomes ready at its Done. Add takes the shard's lock, and
// does not block otherwise. After a shutdown began, Add drops the item. It
// panics if the shard holds [MaxItems] others.
func (s *Set[T]) Add(item T) {
	if s.mayDiffer && s.Reject(item) {
		return
	}
	s.refresh()
	var sh *shard[T]
	var to address
	if s.config.Group == nil { // as addressOf, but without the call
		sh, to.hash = s.locate(item)
	} else {
		sh = s.addressOf(item, &to)
	}
	sh.mu.Lock()
	fx := sh.addItem(item, &to, s.request())
	sh.mu.Unlock()
	s.after(fx)
}

// A request is what an add asks for.
type request struct {
	// priority is the least priority of the run.
	priority int
	// If the item is delayed, cancelsDelay cancels the delay, whose priority
	// counts as well. keepsDelay lets the run at the end of the delay serve the
	// add.
	cancelsDelay, keepsDelay bool
	// expired reports that the add is the end of a delay.
	expired bool
}

// request returns what a plain add asks for.
func (s *Set[T]) request() request { return request{cancelsDelay: s.rules.CancelDelayOnAdd} }

// addItem adds an item, unless adds are refused.
func (sh *shard[T]) addItem(item T, to *address, r request) effects {
	// Read under the lock: a shutdown sets the flag and then takes every lock
	// once. An Add that saw the flag clear has therefore finished before the
	// drain looks.
	if sh.set.closing.refusing.Load() && !sh.takesBack(item, to.hash) {
		sh.rare.dropped++
		return 0
	}
	id, e := sh.entryFor(item, to)
	return sh.add(id, e, r)
}

// entryFor returns the item's entry, or a new idle one if it has none. If the
// shard has no id for a new one, entryFor changes nothing, unlocks the shard
// and panics.
func (sh *shard[T]) entryFor(item T, to *address) (id uint32, e *entry[T]) {
	sh.needTable()
	id, p := sh.table.find(to.hash, item)
	if id == 0 {
		if sh.table.roomy == 0 && !sh.hasID() {
			sh.panicAndUnlock()
		}
		if sh.set.limit != nil {
			sh.set.limit.ForceAcquire(1)
		}
		if id, e = sh.table.insert(p, item); sh.set.config.Group != nil {
			sh.joinGroup(id, &to.tag)
		}
		return id, e
	}
	if sh.groups != nil {
		sh.configureAdded(id, &to.tag)
	}
	return id, sh.table.at(id)
}

// panicAndUnlock unlocks the shard, and panics because it has no id for another
// item.
func (sh *shard[T]) panicAndUnlock() {
	sh.mu.Unlock()
	panic(errTooMany)
}

func (sh *shard[T]) needTable() {
	if sh.table == nil {
		sh.makeTable() // apart, so that needTable is inlined into every Add
	}
}

func (sh *shard[T]) makeTable() {
	sh.table = newTable[T]()
	sh.table.follow(sh.peak, sh.set.spares)
	if sh.set.config.Ages {
		sh.table.times = sh.newTimes()
		sh.table.addColumn(&sh.table.times.since)
	}
	if sh.set.tracksAdds() {
		sh.table.needRequested() // so that each add calls requestPriority
	}
	if sh.set.rules.KeepPlaces {
		sh.table.places = &places{}
		sh.table.addColumn(&sh.table.places.of)
	}
}

// add adds an item that has an entry.
func (sh *shard[T]) add(id uint32, e *entry[T], r request) effects {
	hasPlace := false
	if e.delayed() {
		if r.keepsDelay {
			sh.count.deduplicated++
			return took
		}
		hasPlace = sh.keepsPlace(id, r.priority)
		if r.cancelsDelay {
			r.priority = max(r.priority, sh.cancelDelay(id, e))
		}
	}
	if r.priority != 0 || sh.table.requested != nil {
		sh.requestPriority(id, e, r, hasPlace)
	}
	switch e.step(added) {
	case enqueue:
		sh.count.added++
		sh.push(id, e)
		return took | wakes
	case mark:
		sh.count.added++
		sh.table.times.onDirty(id)
		return took | sh.noteChange(id, e, AddedAgain)
	}
	return sh.deduplicated()
}

// duplicatesBeforeYield is the number of deduplicated adds in a row, with no
// item handed out between, after which the shard asks the producer to yield.
//
// The producer yields only while a woken consumer has not begun to search yet.
// Both need a processor, and the producer only spends its time on adds that
// change nothing. The decision records have the measurements. A producer that
// finds no woken consumer, as when all are busy in their handlers, never
// yields.
const duplicatesBeforeYield = 64

// deduplicated counts an add of an item that is ready or dirty already.
func (sh *shard[T]) deduplicated() effects {
	sh.count.deduplicated++
	sh.fruitless++
	if sh.fruitless%duplicatesBeforeYield == 0 {
		return took | yields
	}
	return took
}

// yield yields the processor to a woken consumer, if there is one.
func (s *Set[T]) yield() {
	if s.parker.wokenPending() {
		runtime.Gosched()
	}
}
