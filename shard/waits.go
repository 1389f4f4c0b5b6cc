package shard

import (
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/shardq/shardq/shard/internal/line"
	"github.com/shardq/shardq/stats"
)

// The driver ends the waits of groups, and of the gate. They are apart from the
// shards' next, because a shutdown ends delays, but not waits.

func newWaits(shards int) []atomic.Uint64 {
	waits := make([]atomic.Uint64, shards)
	for i := range waits {
		waits[i].Store(never)
	}
	return waits
}

func (d *driver) earliestWait() uint64 {
	earliest := d.set.gate.opens.Load()
	for i := range d.set.waits {
		earliest = min(earliest, d.set.waits[i].Load())
	}
	return earliest
}

// endWaitsDue opens the gate, too, and reports whether any wait was over.
func (d *driver) endWaitsDue(at reading) (any bool) {
	for i := range d.set.waits {
		if d.set.waits[i].Load() <= at.now {
			any = true
			d.set.publish(d.set.shard(i).endWaits(at))
		}
	}
	if opens := d.set.gate.opens.Load(); opens <= at.now && d.set.gate.opens.CompareAndSwap(opens, never) {
		any = true
		d.set.wake()
	}
	return any
}

func (sh *shard) endWaits(at reading) (fx effects) {
	sh.lock()
	defer sh.unlock()
	if sh.line.EndWaits(at.now, at.nanoseconds, stepsPerHold) {
		fx = wakes
	}
	sh.show()
	if sh.table != nil {
		sh.releaseIfDue()
	}
	return fx | sh.reportsDue()&^files // the caller is the driver
}

// Groups iterates, without a lock, over groups that are paused or have items.
func (s *Core) Groups() iter.Seq[stats.Group] {
	return func(yield func(stats.Group) bool) {
		for sh := range s.shards.made() {
			if !sh.listGroups(yield) {
				return
			}
		}
	}
}

func (sh *shard) listGroups(yield func(stats.Group) bool) (on bool) {
	var rows []stats.Group
	var census line.Census
	sh.inPieces(func(n int) (visited int, more bool) {
		if n == 0 {
			census = sh.line.Census()
		}
		return sh.line.Rows(census, n, rowsPerHold, func(row line.GroupRow) { rows = append(rows, sh.groupInfo(row)) })
	}, func() bool {
		on = !slices.ContainsFunc(rows, func(row stats.Group) bool { return !yield(row) })
		rows = rows[:0]
		return on
	})
	return on
}

func (sh *shard) groupInfo(row line.GroupRow) stats.Group {
	s := sh.set
	row.Shard = int(sh.number)
	if row.Head != 0 && s.config.Ages {
		row.Oldest = s.time.Moment(sh.table.times.of(row.Head))
	}
	if row.Paused && row.Until != line.Never {
		row.PausedUntil = s.time.Moment(row.Until)
	}
	return row.Group
}

const mostLevelsCounted = 256 // bounds a hold: there may be as many levels as items

// depths count ready items by priority.
type depths struct {
	by          map[int]int
	prioritized bool // items have other priorities than 0
	tooMany     bool // not all levels were counted
}

func (sh *shard) addDepthsTo(d *depths) (counted int) {
	if d.tooMany || sh.table == nil {
		return 0
	}
	if d.by == nil {
		d.by = map[int]int{}
	}
	counted, prioritized := sh.line.Depths(&sh.table.Table, d.by, mostLevelsCounted)
	d.prioritized = d.prioritized || prioritized
	d.tooMany = counted > mostLevelsCounted
	return min(counted, mostLevelsCounted)
}

func (d *depths) rows() (rows []stats.Priority) {
	if !d.prioritized || d.tooMany {
		return nil
	}
	for _, priority := range slices.Backward(slices.Sorted(maps.Keys(d.by))) {
		if n := d.by[priority]; n > 0 {
			rows = append(rows, stats.Priority{Priority: priority, Ready: n})
		}
	}
	return rows
}
