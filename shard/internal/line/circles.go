package line

import (
	"cmp"
	"slices"
)

// A circle has the groups that take turns with each other: all groups, or those
// whose highest ready priority is the same.
type circle struct {
	turn     uint32 // the group whose turn it is, or 0
	priority int
	served   uint32 // circles.takes when the circle was last served, or opened
}

// circles has the circles of a line. It is nil unless there may be several.
type circles struct {
	byPriority map[int]*circle
	open       []*circle // those that have groups, in ascending order of priority
	takes      uint32    // the items that the line has handed out
}

func (g *groups) circleFor(state *group) *circle {
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

func (g *groups) enterCircle(id uint32, state *group) {
	state.in = g.circleFor(state)
	if state.in.turn == 0 {
		g.openCircle(state.in)
		g.changed = true
	}
	g.link(&state.in.turn, id, state)
}

func (g *groups) leaveCircle(id uint32, state *group) {
	state.served = 0
	if g.unlink(&state.in.turn, id, state); state.in.turn == 0 {
		g.closeCircle(state.in)
		g.changed = true
	}
	state.in = nil
}

// followPriority moves a group whose highest priority may be another now.
func (g *groups) followPriority(id uint32, state *group) {
	if g.circles != nil && state.phase == selectable && g.circleFor(state) != state.in {
		g.leaveCircle(id, state)
		g.enterCircle(id, state)
	}
}

func (s *circles) position(c *circle) (at int) {
	at, _ = slices.BinarySearchFunc(s.open, c, func(a, b *circle) int { return cmp.Compare(a.priority, b.priority) })
	return at
}

// openCircle precedes a circle's first group, and closeCircle follows the last.
func (g *groups) openCircle(c *circle) {
	if s := g.circles; s != nil {
		c.served = s.takes
		s.open = slices.Insert(s.open, s.position(c), c)
		g.best = s.open[len(s.open)-1]
	}
}

func (g *groups) closeCircle(c *circle) {
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

// next returns the circle to serve: every n-th time the one that was passed over
// longest.
func (g *groups) next() *circle {
	c, s, n := g.best, g.circles, g.config.LowPriorityInterval
	if s == nil {
		return c
	}
	if s.takes++; n > 0 && s.takes%n == 0 && len(s.open) > 1 {
		c = slices.MinFunc(s.open, func(a, b *circle) int { return cmp.Compare(s.takes-b.served, s.takes-a.served) })
	}
	c.served = s.takes
	return c
}
