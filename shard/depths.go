package shard

import (
	"maps"
	"slices"

	"github.com/shardq/shardq/stats"
)

// mostLevelsCounted bounds a hold: there may be as many levels as items.
const mostLevelsCounted = 256

type depths struct {
	by          map[int]int
	prioritized bool // items have other priorities than 0
	tooMany     bool // not all levels were counted
}

func (d *depths) add(priority, n int) {
	if d.by == nil {
		d.by = map[int]int{}
	}
	d.by[priority] += n
}

// addDepthsTo returns the number of levels counted.
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
