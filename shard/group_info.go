package shard

import (
	"iter"
	"maps"
	"slices"

	"github.com/shardq/shardq/stats"
)

// Groups iterates, without a lock, over groups that are paused or have items.
func (s *Core) Groups() iter.Seq[stats.Group] {
	return func(yield func(stats.Group) bool) {
		for sh := range s.made() {
			if !s.listGroups(sh, yield) {
				return
			}
		}
	}
}

func (s *Core) listGroups(sh *shard, yield func(stats.Group) bool) (on bool) {
	var rows []stats.Group
	var began *groups // the groups when the iteration began
	births := uint32(0)
	s.inPieces(sh, func(n int) (visited int, more bool) {
		if n == 0 && sh.groups != nil {
			began, births = sh.groups, sh.groups.births
		}
		if sh.groups == nil || sh.groups != began { // they are all gone
			return 0, false
		}
		return began.names.piece(n, func(id uint32) {
			state := began.states.Lookup(id)
			if state != nil && (state.items > 0 || state.held&paused != 0) && int32(state.born-births) < 0 {
				rows = append(rows, sh.groupInfo(id))
			}
		})
	}, func() bool {
		on = !slices.ContainsFunc(rows, func(row stats.Group) bool { return !yield(row) })
		rows = rows[:0]
		return on
	})
	return on
}

func (sh *shard) groupInfo(id uint32) stats.Group {
	g := sh.groups
	state := g.at(id)
	row := stats.Group{
		Group: g.nameOf(id),
		Held:  int(state.items), Ready: int(state.ready.depth()), Processing: int(state.ready.processing),
		Weight:    int(state.weight),
		Throttled: state.phase == throttled,
		Limit:     int(state.limit),
		Shard:     int(sh.number),
	}
	if head := state.ready.fifo.head; head != 0 && sh.set.config.Ages {
		row.Oldest = sh.set.time.Moment(sh.table.times.of(head))
	}
	if row.Throttled {
		row.Reason = state.reason()
	}
	if b := g.bucketOf(id, state); b != nil {
		row.Rate = b.wanted.public()
		if row.Paused = state.held&paused != 0; row.Paused && b.until != never {
			row.PausedUntil = sh.set.time.Moment(b.until)
		}
	}
	return row
}

func (g *groups) inOrder() iter.Seq[uint32] {
	return func(yield func(id uint32) bool) {
		open := []*circle{&g.only}
		if g.circles != nil {
			open = g.circles.open
		}
		for _, c := range slices.Backward(open) {
			if !g.walkCircle(c.turn, yield) {
				return
			}
		}
		g.walkCircle(g.firstThrottled, yield)
	}
}

func (g *groups) walkCircle(first uint32, visit func(id uint32) bool) (on bool) {
	for id := first; id != 0; {
		if !visit(id) {
			return false
		}
		if id = g.at(id).next; id == first {
			break
		}
	}
	return true
}

const mostLevelsCounted = 256 // bounds a hold: there may be as many levels as items

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

func (sh *shard) addDepthsTo(d *depths) (counted int) {
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

func (q *runQueue) addDepthsTo(d *depths) (counted int) {
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
