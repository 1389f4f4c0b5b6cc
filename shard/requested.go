package shard

import "github.com/shardq/shardq/internal/chunked"

// requested has the priorities that adds requested. Of several adds, the
// greatest counts, for the run that serves them. The priorities are in columns,
// by entry, which have memory where a priority is not 0.
type requested struct {
	// runs has the priorities of the next runs.
	runs cells[int]
	// delays has the priorities of the delays.
	delays chunked.Array[int]
}

// needRequested makes sure that a table keeps requested priorities.
func (t *table[T]) needRequested() {
	if t.requested == nil {
		t.requested = &requested{}
		t.addColumn(&t.requested.runs)
	}
}

// dropRequested forgets the requested priorities of a table that holds nothing.
func (t *table[T]) dropRequested() {
	if t.requested != nil {
		t.removeColumn(&t.requested.runs)
		t.requested = nil
	}
}

// run returns the priority of the next run of an entry that is ready or dirty.
// The result means nothing for other entries. A nil r has no priorities but 0.
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

// delayed returns the priority of an entry's delay.
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

// few reports whether the columns have little memory.
func (r *requested) few() bool { return r.runs.Cells() <= 16 && r.delays.Cells() <= 16 }

// priorityOf returns the requested priority of an item.
func (sh *shard[T]) priorityOf(id uint32, e *entry[T]) int {
	switch e.phase() {
	case idle:
		return sh.table.requested.delayed(id)
	case processing:
		return 0
	}
	return sh.table.requested.run(id)
}

// requestedFor returns the requested priorities, or nil while all are 0. It
// makes sure that the given priority can be kept.
func (sh *shard[T]) requestedFor(id uint32, priority int) *requested {
	if priority != 0 && sh.queueOf(id).levels == nil {
		sh.needLevels(id)
	}
	return sh.table.requested
}

// raiseDelayedPriority raises the priority of an item that stays delayed.
func (sh *shard[T]) raiseDelayedPriority(id uint32, priority int) {
	if r := sh.requestedFor(id, priority); r != nil && priority > r.delayed(id) {
		r.setDelayed(id, priority)
		sh.renewDelayed(id)
	}
}

// setDelayedPriority sets the priority of a delay that begins.
func (sh *shard[T]) setDelayedPriority(id uint32, priority int) {
	if r := sh.requestedFor(id, priority); r != nil {
		r.setDelayed(id, priority)
		sh.renewDelayed(id)
	}
}

// renewDelayed gives a delayed entry the last place, unless it has a run to
// come, whose place it keeps.
func (sh *shard[T]) renewDelayed(id uint32) {
	if p := sh.table.at(id).phase(); p == idle || p == processing {
		sh.table.places.renew(id)
	}
}
