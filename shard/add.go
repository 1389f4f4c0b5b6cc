package shard

import (
	"runtime"

	"github.com/shardq/shardq/stats"
)

// Add makes item ready, or dirty if it is in processing.
func (s *Set[T]) Add(item T) {
	if s.mayDiffer && s.Reject(item) {
		return
	}
	s.Core.refresh()
	var sh *shard
	var to address
	if !s.Core.config.grouped { // as addressOf, but without the call
		sh, to.hash = s.locate(item)
	} else {
		sh = s.addressOf(item, &to)
	}
	sh.lock()
	fx := s.addItem(sh, item, &to, s.Core.request())
	sh.unlock()
	s.Core.after(fx)
}

type request struct {
	priority     int  // the least priority of the run
	cancelsDelay bool // of a delayed item, and the delay's priority counts too
	keepsDelay   bool // the run at the end of the delay serves the add
	expired      bool // the add is the end of a delay
}

func (s *Core) request() request { return request{cancelsDelay: s.rules.CancelDelayOnAdd} }

func (s *Set[T]) addItem(sh *shard, item T, to *address, r request) effects {
	// Read under the lock: a shutdown sets the flag and then takes every lock
	// once. An Add that saw the flag clear has therefore finished before the
	// drain looks.
	if sh.set.closing.refusing.Load() && !s.takesBack(sh, item, to.hash) {
		sh.rare.dropped++
		return 0
	}
	id, e := s.entryFor(sh, item, to)
	return sh.add(id, e, r)
}

// entryFor unlocks the shard and panics if it has no id for a new item.
func (s *Set[T]) entryFor(sh *shard, item T, to *address) (id uint32, e *entry) {
	sh.needTable()
	id, p := find(sh.table, to.hash, item)
	if id == 0 {
		if sh.table.roomy == 0 && !sh.hasID() {
			sh.panicAndUnlock()
		}
		if sh.set.limit != nil {
			sh.set.limit.ForceAcquire(1)
		}
		if id, e = insert(sh.table, p, item); sh.set.config.grouped {
			sh.joinGroup(id, &to.tag)
		}
		return id, e
	}
	if sh.groups != nil {
		sh.configureAdded(id, &to.tag)
	}
	return id, sh.table.at(id)
}

func (sh *shard) panicAndUnlock() {
	sh.unlock()
	panic(errTooMany)
}

func (sh *shard) needTable() {
	if sh.table == nil {
		sh.makeTable() // apart, so that needTable is inlined into every Add
	}
}

func (sh *shard) makeTable() {
	sh.table = newTable(sh.set.items)
	sh.table.expected = sh.peak
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

func (sh *shard) add(id uint32, e *entry, r request) effects {
	hasPlace := false
	if e.delayed() {
		backsOff := sh.wheel.backsOff(id)
		switch {
		case backsOff && e.phase() != ready:
			sh.wheel.serve(id)
			sh.joinBackoff(id, r.priority)
			return took
		case r.keepsDelay:
			sh.count.deduplicated++
			return took
		}
		hasPlace = sh.keepsPlace(id, r.priority)
		if r.cancelsDelay && !backsOff {
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

// duplicatesBeforeYield is the number of fruitless adds in a row after which
// the producer yields to a woken consumer that has not begun to search.
const duplicatesBeforeYield = 64

func (sh *shard) deduplicated() effects {
	sh.count.deduplicated++
	sh.fruitless++
	if sh.fruitless%duplicatesBeforeYield == 0 {
		return took | yields
	}
	return took
}

func (s *Core) yield() {
	if s.parker.wokenPending() {
		runtime.Gosched()
	}
}

type addHook[T comparable] struct {
	hook func(stats.Add[T])
	outbox[stats.Add[T]]
}

func newAddHook[T comparable](hook func(stats.Add[T])) *addHook[T] {
	if hook == nil {
		return nil
	}
	return &addHook[T]{hook: hook}
}

func (u hooks[T]) keepAdd(e *entry, a stats.Add[struct{}]) {
	u.set.adds.keep(stats.Add[T]{
		Item: *itemOf[T](e), Priority: a.Priority, Before: a.Before, Expired: a.Expired, Raised: a.Raised, Canceled: a.Canceled,
	})
}

func (u hooks[T]) sendAdds() {
	if u.set.adds != nil {
		u.set.adds.send(u.set.adds.hook)
	}
}

func (s *Core) tracksAdds() bool { return s.rules.KeepPlaces || s.config.hearsAdds }

func (sh *shard) leftLine(id uint32, e *entry) {
	if sh.set.config.hearsAdds {
		sh.set.above.keepAdd(e, stats.Add[struct{}]{Priority: sh.table.requested.run(id), Canceled: true})
	}
}

func (s *Core) reportAdds() {
	s.watches.send()
	if s.config.hearsAdds {
		s.above.sendAdds()
	}
}
