package shard

import (
	"slices"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/stats"
)

func (s *Set[T]) addAtPriority(item T, priority int) {
	if s.mayDiffer && s.Reject(item) {
		return
	}
	var to address
	sh := s.addressOf(item, &to)
	s.Core.refresh()
	r := s.Core.request()
	r.priority = priority
	sh.lock()
	fx := s.addItem(sh, item, &to, r)
	sh.unlock()
	s.Core.after(fx)
}

// requestPriority notes the priority of an add, of which the greatest counts.
func (sh *shard) requestPriority(id uint32, e *entry, r request, hasPlace bool) {
	if (r.priority != 0 || sh.table.places != nil) && sh.queueOf(id).levels == nil {
		sh.needLevels(id)
	}
	w := sh.table.requested
	if e.phase() == idle || e.phase() == processing {
		w.setRun(id, r.priority)
		if !hasPlace {
			sh.table.places.renew(id)
		}
		if sh.set.config.hearsAdds {
			sh.set.above.keepAdd(e, stats.Add[struct{}]{Priority: r.priority, Expired: r.expired})
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
	if sh.set.config.hearsAdds {
		sh.set.above.keepAdd(e, stats.Add[struct{}]{Priority: r.priority, Raised: true, Before: before})
	}
}

func (sh *shard) raise(id uint32, e *entry, priority int) {
	q := sh.queueOf(id)
	q.raise(sh.table, id, e, priority)
	if sh.groups == nil {
		sh.publishPriority(q.levels, false)
	} else {
		sh.followPriority(id)
	}
}

func (sh *shard) raisePriority(id uint32, e *entry, priority int) {
	if priority != 0 || sh.table.requested != nil {
		sh.requestPriority(id, e, request{priority: priority}, true)
	}
}

type requested struct {
	runs   cells[int]
	delays chunked.Array[int]
}

func (t *table) needRequested() {
	if t.requested == nil {
		t.requested = &requested{}
		t.addColumn(&t.requested.runs)
	}
}

func (t *table) dropRequested() {
	if t.requested != nil {
		t.columns = slices.DeleteFunc(t.columns, func(c column) bool { return c == &t.requested.runs })
		t.requested = nil
	}
}

func (r *requested) run(id uint32) int {
	if r == nil {
		return 0
	}
	if cell := r.runs.Lookup(id); cell != nil {
		return *cell
	}
	return 0
}

func (r *requested) setRun(id uint32, priority int) {
	if cell := r.runs.Lookup(id); cell != nil {
		*cell = priority
	} else if priority != 0 {
		*r.runs.Extend(id) = priority
	}
}

func (r *requested) delayed(id uint32) int {
	if cell := r.delays.Lookup(id); cell != nil {
		return *cell
	}
	return 0
}

func (r *requested) setDelayed(id uint32, priority int) {
	switch before := r.delayed(id); {
	case before == 0 && priority != 0:
		*r.delays.Hold(id) = priority
	case before != 0:
		*r.delays.At(id) = priority
		if priority == 0 {
			r.delays.Release(id)
		}
	}
}

func (sh *shard) priorityOf(id uint32, e *entry) int {
	switch e.phase() {
	case idle:
		return sh.table.requested.delayed(id)
	case processing:
		return 0
	}
	return sh.table.requested.run(id)
}

// requestedFor returns nil while all priorities are 0.
func (sh *shard) requestedFor(id uint32, priority int) *requested {
	if priority != 0 && sh.queueOf(id).levels == nil {
		sh.needLevels(id)
	}
	return sh.table.requested
}

func (sh *shard) raiseDelayedPriority(id uint32, priority int) {
	if r := sh.requestedFor(id, priority); r != nil && priority > r.delayed(id) {
		r.setDelayed(id, priority)
		sh.renewDelayed(id)
	}
}

func (sh *shard) setDelayedPriority(id uint32, priority int) {
	if r := sh.requestedFor(id, priority); r != nil {
		r.setDelayed(id, priority)
		sh.renewDelayed(id)
	}
}

func (sh *shard) renewDelayed(id uint32) {
	if p := sh.table.at(id).phase(); p == idle || p == processing {
		sh.table.places.renew(id)
	}
}
