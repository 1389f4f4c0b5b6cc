package shard

import (
	"cmp"
	"maps"
	"slices"

	"github.com/shardq/shardq/stats"
)

// mostLevelsCounted limits the levels of a shard that a reading adds up. It
// holds the shard's lock only briefly, and there may be as many levels as
// items. Each group has levels of its own.
const mostLevelsCounted = 256

// depths counts ready items by priority.
type depths struct {
	by map[int]int
	// prioritized reports that items have other priorities than 0, and
	// tooMany that not all levels were counted.
	prioritized, tooMany bool
}

func (d *depths) add(priority, n int) {
	if d.by == nil {
		d.by = map[int]int{}
	}
	d.by[priority] += n
}

// addDepthsTo adds the shard's ready items to those of a reading. It returns
// the number of levels that it counted.
func (sh *shard[T]) addDepthsTo(d *depths) (counted int) {
	switch {
	case d.tooMany:
		return 0
	case sh.groups == nil:
		return sh.ready.addDepthsTo(d)
	case sh.table == nil || sh.table.requested == nil:
		d.add(0, int(sh.depth()))
		return 0
	}
	for id := range sh.groups.inOrder() {
		counted += sh.groups.at(id).ready.addDepthsTo(d)
		if d.tooMany = d.tooMany || counted > mostLevelsCounted; d.tooMany {
			break
		}
	}
	return counted
}

func (q *runQueue[T]) addDepthsTo(d *depths) (counted int) {
	if q.levels == nil {
		d.add(0, int(q.fifo.length))
		return 1
	}
	counted = 1 + len(q.levels.heap)
	if d.prioritized = true; counted > mostLevelsCounted {
		d.tooMany = true
		return 0
	}
	d.add(q.levels.served.priority, int(q.fifo.length))
	for _, v := range q.levels.heap {
		d.add(v.priority, int(v.list.length))
	}
	return counted
}

// rows returns what was counted, the highest priority first.
func (d *depths) rows() (rows []stats.Priority) {
	if !d.prioritized || d.tooMany {
		return nil
	}
	for _, priority := range slices.SortedFunc(maps.Keys(d.by), func(a, b int) int { return cmp.Compare(b, a) }) {
		if n := d.by[priority]; n > 0 {
			rows = append(rows, stats.Priority{Priority: priority, Ready: n})
		}
	}
	return rows
}
