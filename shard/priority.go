package shard

import "github.com/shardq/shardq/stats"

func (s *Set[T]) addAtPriority(item T, priority int) {
	if s.mayDiffer && s.Reject(item) {
		return
	}
	var to address
	sh := s.addressOf(item, &to)
	s.refresh()
	r := s.request()
	r.priority = priority
	sh.mu.Lock()
	fx := sh.addItem(item, &to, r)
	sh.mu.Unlock()
	s.after(fx)
}

// requestPriority notes the requested priority of an entry that is about to be
// added, and keeps the add for OnAdd. The greatest priority requested counts.
// The entry also gets a place, unless it keeps the one of its delay.
func (sh *shard[T]) requestPriority(id uint32, e *entry[T], r request, hasPlace bool) {
	if (r.priority != 0 || sh.table.places != nil) && sh.queueOf(id).levels == nil {
		sh.needLevels(id)
	}
	w := sh.table.requested
	if e.phase() == idle || e.phase() == processing {
		w.setRun(id, r.priority)
		if !hasPlace {
			sh.table.places.renew(id)
		}
		if sh.set.adds != nil {
			sh.set.adds.keep(stats.Add[T]{Item: e.item, Priority: r.priority, Expired: r.expired})
		}
		return
	}
	before := w.run(id)
	if r.priority <= before {
		return
	}
	if e.phase() == dirty {
		w.setRun(id, r.priority)
		sh.table.places.renew(id)
	} else {
		sh.raise(id, e, r.priority)
	}
	if sh.set.adds != nil {
		sh.set.adds.keep(stats.Add[T]{Item: e.item, Priority: r.priority, Raised: true, Before: before})
	}
}

func (sh *shard[T]) raise(id uint32, e *entry[T], priority int) {
	q := sh.queueOf(id)
	q.raise(sh.table, id, e, priority)
	if sh.groups == nil {
		sh.publishPriority(q.levels, false)
	} else {
		sh.followPriority(id)
	}
}

// raisePriority raises the priority of an entry that is ready or dirty.
func (sh *shard[T]) raisePriority(id uint32, e *entry[T], priority int) {
	if priority != 0 || sh.table.requested != nil {
		sh.requestPriority(id, e, request{priority: priority}, true)
	}
}
