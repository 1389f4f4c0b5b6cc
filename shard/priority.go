package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// requestPriority notes the priority of an add. Of the adds of a run, the
// greatest priority counts.
func (sh *shard) requestPriority(id uint32, e *items.Entry, r request, hasPlace bool) {
	if r.priority != 0 || sh.table.Places != nil {
		sh.line.NeedLevels(&sh.set.lines, &sh.table.Table, id)
	}
	w := sh.table.Requested
	if e.Phase() == items.Idle || e.Phase() == items.Processing {
		w.SetRun(id, r.priority)
		if !hasPlace {
			sh.table.Places.Renew(id)
		}
		if sh.set.config.hearsAdds {
			sh.set.above.keepAdd(e, stats.Add[struct{}]{Priority: r.priority, Expired: r.expired})
		}
		return
	}
	before := w.Run(id)
	if r.priority <= before {
		return
	}
	if e.Phase() == items.Dirty {
		w.SetRun(id, r.priority)
		sh.table.Places.Renew(id)
	} else {
		sh.line.Raise(&sh.table.Table, id, e, r.priority)
		sh.show()
	}
	if sh.set.config.hearsAdds {
		sh.set.above.keepAdd(e, stats.Add[struct{}]{Priority: r.priority, Raised: true, Before: before})
	}
}

func (sh *shard) raisePriority(id uint32, e *items.Entry, priority int) {
	if priority != 0 || sh.table.Requested != nil {
		sh.requestPriority(id, e, request{priority: priority}, true)
	}
}

func (sh *shard) priorityOf(id uint32, e *items.Entry) int {
	switch e.Phase() {
	case items.Idle:
		return sh.table.Requested.Delayed(id)
	case items.Processing:
		return 0
	}
	return sh.table.Requested.Run(id)
}

// delayAtPriority sets the priority of an item that becomes delayed, or raises that
// of one that is.
func (sh *shard) delayAtPriority(id uint32, e *items.Entry, priority int, raise bool) {
	if priority != 0 {
		sh.line.NeedLevels(&sh.set.lines, &sh.table.Table, id)
	}
	r := sh.table.Requested
	if r == nil || raise && priority <= r.Delayed(id) {
		return
	}
	r.SetDelayed(id, priority)
	if p := e.Phase(); p == items.Idle || p == items.Processing {
		sh.table.Places.Renew(id)
	}
}

func (sh *shard) keepsPlace(id uint32, priority int) bool {
	return sh.table.Places != nil && priority <= sh.table.Requested.Delayed(id)
}
