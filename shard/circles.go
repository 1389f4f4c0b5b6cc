package shard

import (
	"cmp"
	"slices"
)

// A circle has groups that take turns. With Config.PrioritiesBeforeTurns there
// is one for each priority: a group is in that of its highest, and the highest
// is served.
type circle struct {
	turn     uint32 // the group whose turn it is, or 0
	priority int
	served   uint32 // circles.takes when the circle was last served, or opened
}

// circles has the circles of a shard. It is nil unless there may be several.
type circles struct {
	byPriority map[int]*circle
	open       []*circle // those that have groups, in ascending order of priority
	takes      uint32    // the items that the shard has handed out
}

func (sh *shard[T]) circleFor(state *group[T]) *circle {
	g := sh.groups
	if g.circles == nil {
		return &g.only
	}
	priority := 0
	if l := state.ready.levels; l != nil {
		priority = l.served.priority
	}
	c := g.circles.byPriority[priority]
	if c == nil {
		c = &circle{priority: priority}
		g.circles.byPriority[priority] = c
	}
	return c
}

func (sh *shard[T]) enterCircle(id uint32, state *group[T]) {
	g := sh.groups
	state.in = sh.circleFor(state)
	if state.in.turn == 0 {
		g.openCircle(state.in)
	}
	g.link(&state.in.turn, id, state)
}

func (g *groups[T]) leaveCircle(id uint32, state *group[T]) {
	state.served = 0
	if g.unlink(&state.in.turn, id, state); state.in.turn == 0 {
		g.closeCircle(state.in)
	}
	state.in = nil
}

// followPriority moves a group to another circle if its highest priority
// changed.
func (sh *shard[T]) followPriority(id uint32) {
	g := sh.groups
	if g.circles == nil {
		return
	}
	of := sh.groupOf(id)
	if state := g.at(of); state.phase == selectable && sh.circleFor(state) != state.in {
		g.leaveCircle(of, state)
		sh.enterCircle(of, state)
	}
}

func (s *circles) position(c *circle) (at int) {
	at, _ = slices.BinarySearchFunc(s.open, c, func(a, b *circle) int { return cmp.Compare(a.priority, b.priority) })
	return at
}

// openCircle is called before its first group comes, closeCircle after the
// last.
func (g *groups[T]) openCircle(c *circle) {
	if s := g.circles; s != nil {
		c.served = s.takes
		s.open = slices.Insert(s.open, s.position(c), c)
		g.best = s.open[len(s.open)-1]
	}
}

func (g *groups[T]) closeCircle(c *circle) {
	s := g.circles
	if s == nil {
		return
	}
	at := s.position(c)
	s.open = slices.Delete(s.open, at, at+1)
	if len(s.byPriority) > mostIdleLevels {
		delete(s.byPriority, c.priority)
	}
	if g.best = &g.only; len(s.open) > 0 {
		g.best = s.open[len(s.open)-1]
	}
}

// next returns the circle to serve: every interval-th time that which was
// passed over longest.
func (g *groups[T]) next(interval uint32) *circle {
	c, s := g.best, g.circles
	if s == nil {
		return c
	}
	if s.takes++; interval > 0 && s.takes%interval == 0 && len(s.open) > 1 {
		c = slices.MinFunc(s.open, func(a, b *circle) int { return cmp.Compare(s.takes-b.served, s.takes-a.served) })
	}
	c.served = s.takes
	return c
}
