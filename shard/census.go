package shard

import (
	"iter"
	"maps"
	"slices"

	"github.com/shardq/shardq/shard/internal/line"
	"github.com/shardq/shardq/stats"
)

// Groups yields the groups that are paused or have items, with no lock held.
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
