package shard

import (
	"iter"
	"slices"

	"github.com/shardq/shardq/stats"
)

// Groups iterates over the groups that have items or are paused, without those
// that got their first item after it began at their shard. It yields without a
// lock.
func (s *Set[T]) Groups() iter.Seq[stats.Group] {
	return func(yield func(stats.Group) bool) {
		for sh := range s.made() {
			if !s.listGroups(sh, yield) {
				return
			}
		}
	}
}

func (s *Set[T]) listGroups(sh *shard[T], yield func(stats.Group) bool) (on bool) {
	var rows []stats.Group
	var began *groups[T] // the groups when the iteration began
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

func (sh *shard[T]) groupInfo(id uint32) stats.Group {
	g := sh.groups
	state := g.at(id)
	row := stats.Group{
		Group: g.names.at(id).item,
		Held:  int(state.items), Ready: int(state.ready.depth()), Processing: int(state.ready.processing),
		Weight:    int(state.weight),
		Throttled: state.phase == throttled,
		Limit:     int(state.limit),
		Shard:     int(sh.number),
	}
	if head := state.ready.fifo.head; head != 0 && sh.set.config.Ages {
		row.Oldest = sh.set.time.moment(sh.table.times.of(head))
	}
	if row.Throttled {
		row.Reason = state.reason()
	}
	if b := g.bucketOf(id, state); b != nil {
		row.Rate = b.wanted.public()
		if row.Paused = state.held&paused != 0; row.Paused && b.until != never {
			row.PausedUntil = sh.set.time.moment(b.until)
		}
	}
	return row
}

// reason returns why a group is throttled, first what only a caller can end.
func (g *group[T]) reason() stats.Throttling {
	switch {
	case g.held&paused != 0:
		return stats.ThrottledByPause
	case g.held&noToken != 0:
		return stats.ThrottledByRate
	}
	return stats.ThrottledByLimit
}

// inOrder returns the groups with ready items, by their turns, the throttled
// last.
func (g *groups[T]) inOrder() iter.Seq[uint32] {
	return func(yield func(id uint32) bool) {
		_ = g.walkSelectable(yield) && g.walkCircle(g.firstThrottled, yield)
	}
}

func (g *groups[T]) walkSelectable(visit func(id uint32) bool) (on bool) {
	if g.circles == nil {
		return g.walkCircle(g.only.turn, visit)
	}
	for _, c := range slices.Backward(g.circles.open) {
		if !g.walkCircle(c.turn, visit) {
			return false
		}
	}
	return true
}

func (g *groups[T]) walkCircle(first uint32, visit func(id uint32) bool) (on bool) {
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
