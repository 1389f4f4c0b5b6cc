package line

import (
	"iter"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// OneQueue reports whether Walk visits the items in the order of Get.
func (l *Line) OneQueue() bool { return l.groups == nil }

// Walk visits the ready entries: those of a group in their order, groups in the
// order of their turns, and last the throttled ones.
func (l *Line) Walk(t *items.Table, visit func(id uint32) bool) {
	for q := range l.queues() {
		if !q.walk(t, visit) {
			return
		}
	}
}

// Heads yields the first ready entry of each group that has one.
func (l *Line) Heads() iter.Seq[uint32] {
	return func(yield func(id uint32) bool) {
		for q := range l.queues() {
			if q.fifo.Head != 0 && !yield(q.fifo.Head) {
				return
			}
		}
	}
}

func (l *Line) queues() iter.Seq[*queue] {
	return func(yield func(q *queue) bool) {
		if l.groups == nil {
			yield(&l.queue)
			return
		}
		for id := range l.groups.inOrder() {
			if !yield(&l.groups.at(id).ready) {
				return
			}
		}
	}
}

func (g *groups) inOrder() iter.Seq[uint32] {
	return func(yield func(id uint32) bool) {
		open := []*circle{&g.only}
		if g.circles != nil {
			open = g.circles.open
		}
		for i := len(open) - 1; i >= 0; i-- {
			if !g.walkCircle(open[i].turn, yield) {
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

// Depths adds the number of ready items of each priority to by, unless the number
// of levels exceeds most. It returns how many it has counted, and whether items
// may have other priorities than 0.
func (l *Line) Depths(t *items.Table, by map[int]int, most int) (counted int, prioritized bool) {
	if l.groups != nil && (t == nil || t.Requested == nil) {
		by[0] += int(l.groups.depth)
		return 0, false
	}
	for q := range l.queues() {
		levels := q.levels
		if counted++; levels == nil {
			levels = &levels0
		}
		if counted += len(levels.heap); counted > most {
			break
		}
		prioritized = prioritized || q.levels != nil
		by[levels.served.priority] += int(q.fifo.Length)
		for _, v := range levels.heap {
			by[v.priority] += int(v.list.Length)
		}
	}
	return counted, prioritized
}

// levels0 stands for those of a queue whose items all have the priority 0.
var levels0 = levels{served: newLevel(0)}

// A Census goes through the groups that there are when it begins.
type Census struct {
	groups *groups
	births uint32
}

func (l *Line) Census() Census {
	if l.groups == nil {
		return Census{}
	}
	return Census{l.groups, l.groups.births}
}

// A GroupRow describes a group that is paused or has items.
type GroupRow struct {
	stats.Group
	Head  uint32 // its first ready entry, or 0
	Until uint64 // the end of its pause, or Never
}

// Rows describes the groups of the n-th piece, as items.Table.Piece does.
func (l *Line) Rows(c Census, n, ids int, visit func(GroupRow)) (visited int, more bool) {
	g := c.groups
	if g == nil || l.groups != g { // they are all gone
		return 0, false
	}
	return g.names.Piece(n, ids, func(id uint32) {
		state := chunked.Lookup(&g.states, id)
		if state != nil && (state.items > 0 || state.held&paused != 0) && int32(state.born-c.births) < 0 {
			visit(g.row(id, state))
		}
	})
}

func (g *groups) row(id uint32, state *group) GroupRow {
	row := GroupRow{
		Group: stats.Group{
			Group: g.nameOf(id),
			Held:  int(state.items), Ready: int(state.ready.depth()), Processing: int(state.ready.processing),
			Weight:    int(state.weight),
			Throttled: state.phase == throttled,
			Limit:     int(state.limit),
		},
		Head: state.ready.fifo.Head, Until: Never,
	}
	if row.Throttled {
		row.Reason = state.reason()
	}
	if b := g.bucketOf(id, state); b != nil {
		row.Rate = b.wanted.Public()
		row.Paused, row.Until = state.held&paused != 0, b.until
	}
	return row
}
