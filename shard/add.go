package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Add makes item ready, or dirty if it is in processing.
func (s *Set[T]) Add(item T) { s.addAtPriority(item, 0) }

func (s *Set[T]) addAtPriority(item T, priority int) {
	if s.Core.items.MayDiffer && s.Reject(item) {
		return
	}
	s.Core.refresh()
	var to address
	sh := s.addressOf(item, &to)
	if !sh.tryLock() {
		sh.lockToAdd()
	}
	fx := sh.addItem(items.KeyOf(&item), &to, s.Core.config.request(priority))
	sh.unlock()
	s.Core.after(fx)
}

func (sh *shard) addItem(key items.Key, to *address, r request) effects {
	// Read under the lock: a shutdown sets the flag and then takes every lock
	// once. An Add that saw the flag clear has therefore finished before the
	// drain looks.
	if sh.set.closing.refusing.Load() && !sh.takesBack(key, to.hash) {
		return sh.dropAdd()
	}
	id, e := sh.entryFor(key, to)
	return sh.add(id, e, r)
}

// dropAdd drops an add of a method that returns no error.
func (sh *shard) dropAdd() effects {
	sh.rare.dropped++
	sh.set.closing.untold.Add(1)
	return tells
}

// entryFor unlocks the shard and panics with ErrFull if it has no id for a new item.
func (sh *shard) entryFor(key items.Key, to *address) (id uint32, e *items.Entry) {
	sh.needTable()
	id, p := sh.table.Find(to.hash, key)
	if id == 0 {
		if sh.table.IsFull() && !sh.hasID() {
			sh.unlock()
			panic(errTooMany)
		}
		if sh.set.limit != nil {
			sh.set.limit.ForceAcquire(1)
		}
		id, e = sh.table.Insert(p, key)
		sh.join(id, to)
		return id, e
	}
	sh.configure(id, to)
	return id, sh.table.At(id)
}

func (sh *shard) needTable() {
	if sh.table == nil {
		sh.makeTable() // a function of its own, so that needTable is inlined into every Add
	}
}

func (sh *shard) makeTable() {
	sh.table = &contents{Table: items.NewTable(sh.set.items)}
	sh.table.Expected = sh.peak
	if sh.set.config.Ages {
		sh.table.times = &times{coarse: &sh.set.coarse}
		if sh.set.measures != nil {
			sh.table.times.measures = sh.needMeasures()
		}
		items.AddColumn(&sh.table.Table, &sh.table.times.since)
	}
	if sh.set.config.tracksAdds() {
		sh.table.NeedRequested() // so that each add calls requestPriority
	}
	if sh.set.config.Rules.KeepPlaces {
		sh.table.NeedPlaces()
	}
}

func (sh *shard) add(id uint32, e *items.Entry, r request) effects {
	hasPlace := false
	if e.Delayed() {
		backsOff := sh.wheel.backsOff(id)
		switch {
		case backsOff && e.Phase() != items.Ready:
			sh.joinBackoff(id, e, r.priority)
			return took
		case r.keepsDelay:
			sh.delayAtPriority(id, e, r.priority, true)
			sh.count.deduplicated++
			return took
		}
		hasPlace = sh.keepsPlace(id, r.priority)
		if r.cancelsDelay && !backsOff {
			r.priority = max(r.priority, sh.cancelDelay(id, e))
		}
	}
	if r.priority != 0 || sh.table.Requested != nil {
		sh.requestPriority(id, e, r, hasPlace)
	}
	switch e.Step(items.Added) {
	case items.Enqueue:
		sh.count.added++
		sh.push(id, e)
		return took | wakes
	case items.Mark:
		sh.count.added++
		if t := sh.table.times; t != nil {
			t.mark(id)
		}
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

func (sh *shard) leftLine(id uint32, e *items.Entry) {
	if sh.set.config.hearsAdds {
		sh.set.above.keepAdd(e, stats.Add[struct{}]{Priority: sh.table.Requested.Run(id), Canceled: true})
	}
}
