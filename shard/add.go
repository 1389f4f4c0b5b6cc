package shard

import "runtime"

// Add makes item ready, unless it is ready already; if it is in processing, it
// becomes ready at its Done. After a shutdown began, Add drops the item. It never
// blocks, but for the shard's lock. It panics if the shard holds [MaxItems] others.
func (s *Set[T]) Add(item T) {
	if s.mayDiffer && s.Reject(item) {
		return
	}
	s.refresh()
	var sh *shard[T]
	var to address
	if s.group == nil { // as addressOf, without a call more
		sh, to.hash = s.locate(item)
	} else {
		sh, to = s.addressOf(item)
	}
	sh.mu.Lock()
	fx := sh.addItem(item, &to, s.request())
	sh.mu.Unlock()
	s.after(fx)
}

// A request says what an add asks for.
type request struct {
	// priority is what the run is to have at least.
	priority int
	// If the item waits, endsDelay cancels its delay, whose priority counts, too,
	// and waitsOn has the run at the end of its delay serve the add.
	endsDelay, waitsOn bool
}

// request returns what a plain add asks for.
func (s *Set[T]) request() request { return request{endsDelay: s.cancelDelayOnAdd} }

// addItem adds an item, unless adds are refused.
func (sh *shard[T]) addItem(item T, to *address, r request) effects {
	// Read under the lock: a shutdown sets the flag and then passes through every
	// lock once, so an Add that saw it clear has landed before the drain looks.
	if sh.set.closing.refusing.Load() && !sh.takesBack(item, to.hash) {
		sh.rare.dropped++
		return 0
	}
	id, e := sh.entryFor(item, to)
	return sh.add(id, e, r)
}

// entryFor returns the item's entry, a new idle one if it has none. If the shard has
// no id for that, it has changed nothing, unlocks the shard and panics.
func (sh *shard[T]) entryFor(item T, to *address) (id uint32, e *entry[T]) {
	sh.needTable()
	id, p := sh.table.find(to.hash, item)
	if id == 0 {
		if sh.table.roomy == 0 && !sh.hasID() {
			sh.mu.Unlock()
			panic(errTooMany)
		}
		if sh.set.limit != nil {
			sh.set.limit.ForceAcquire(1)
		}
		if id, e = sh.table.insert(p, item); sh.set.group != nil {
			sh.joinGroup(id, &to.tag)
		}
		return id, e
	}
	if sh.groups != nil {
		sh.weighAdded(id, &to.tag)
	}
	return id, sh.table.at(id)
}

func (sh *shard[T]) needTable() {
	if sh.table == nil {
		sh.makeTable() // apart, for each Add comes by here, and the rest is too long to be put in line
	}
}

func (sh *shard[T]) makeTable() {
	sh.table = newTable[T]()
	sh.table.follow(sh.tide, sh.set.spares)
	if sh.set.ages {
		sh.table.times = sh.newTimes()
		sh.table.hang(&sh.table.times.since)
	}
}

// add adds an item that has an entry.
func (sh *shard[T]) add(id uint32, e *entry[T], r request) effects {
	if e.waiting() {
		if r.waitsOn {
			sh.count.merged++
			return took
		}
		if r.endsDelay {
			r.priority = max(r.priority, sh.endDelay(id, e))
		}
	}
	if r.priority != 0 || sh.table.wishes != nil {
		sh.wish(id, e, r.priority)
	}
	switch e.step(added) {
	case enqueue:
		sh.count.added++
		sh.push(id, e)
		return took | wakes
	case mark:
		sh.count.added++
		sh.table.times.onDirty(id)
		return took
	}
	return sh.merged()
}

// mergesBeforeYield is how many adds in a row a shard merges, handing nothing out
// meanwhile, before it asks the producer to yield.
//
// The producer is asked only while a consumer that was woken has not come to look
// yet: both want a processor, and the producer's time on it is lost, for all that it
// adds is there already. With eight producers and eight consumers on two cores,
// each of them running for the scheduler's 10 ms at a time, ten of eleven adds were
// such, and items took four times as long. A producer that finds no
// woken consumer waiting, as when all are busy in their handlers, never yields.
const mergesBeforeYield = 64

// merged counts an add of what is ready or dirty already.
func (sh *shard[T]) merged() effects {
	sh.count.merged++
	sh.fruitless++
	if sh.fruitless%mergesBeforeYield == 0 {
		return took | yields
	}
	return took
}

// yield is to be called after an add in vain.
func (s *Set[T]) yield() {
	if s.lot.wokenWaits() {
		runtime.Gosched()
	}
}
