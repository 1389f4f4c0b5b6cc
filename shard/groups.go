package shard

import (
	"cmp"
	"slices"

	"github.com/shardq/shardq/internal/chunked"
)

// MaxGroupWeight is the greatest weight of a group.
const MaxGroupWeight = 1 << 20

// A group has a run queue of its own, and takes memory only while it has items.
type group struct {
	ready          runQueue
	born           uint32 // tells the group from earlier ones with the same id: see births
	items          int32  // the entries of the group: see leaveGroup
	weight         int32
	limit          int32 // of the items in processing, or 0
	served         int32 // the items handed out in the group's turn
	phase          groupPhase
	held           blocks  // what blocks the group besides its limit
	hasBucket      bool    // whether it has a cell in groups.buckets
	next, previous uint32  // in its circle, or among the throttled groups
	in             *circle // if it is in the round robin
}

// groups is what a shard keeps of all groups. Its own run queue is empty then.
type groups struct {
	names       *table
	states      chunked.Array[group]
	of          cells[uint32] // the group of each entry
	depth       int32         // the ready items of all groups
	processing  int32
	births      uint32                      // the groups ever made, modulo its range
	vacant      int32                       // the groups without items that are remembered
	buckets     *chunked.Array[groupBucket] // nil until a group has one
	waiting     []uint32                    // groups that wait for a tick: see await
	filed       bool                        // the driver has to read a new deadline
	throttledBy [4]int32                    // the throttled groups by their reasons
	rated       bool                        // a group was ever given a rate
	latest      uint64                      // the last reading by which a bucket was used: the clock may be set back
	forgotten   uint64                      // the latest moment at which a forgotten bucket was full
	roundRobin
}

func (g *groups) at(id uint32) *group        { return g.states.At(id) }
func (g *groups) nameOf(group uint32) string { return *itemOf[string](g.names.at(group)) }

func (sh *shard) groupOf(id uint32) uint32 { return *sh.groups.of.At(id) }

// pushedInGroup follows a push into a group's run queue, pulledInGroup a pull.
func (sh *shard) pushedInGroup(id uint32, becameReady bool) {
	sh.groups.depth++
	if becameReady {
		of := sh.groupOf(id)
		sh.groupBecameReady(of, sh.groups.at(of))
	} else {
		sh.followPriority(id)
	}
}

func (sh *shard) pulledInGroup(id uint32, becameEmpty bool) {
	sh.groups.depth--
	if becameEmpty {
		of := sh.groupOf(id)
		sh.groupBecameEmpty(of, sh.groups.at(of))
	} else {
		sh.followPriority(id)
	}
}

func (sh *shard) joinGroup(id uint32, to *tag) {
	sh.needGroups()
	g := sh.groups
	of, p := find(g.names, to.groupHash, to.group)
	var state *group
	if of == 0 {
		of, state = sh.newGroup(to.group, p)
	} else if state = g.at(of); state.items == 0 {
		g.vacant--
		state.weight = max(1, state.weight) // 0: it was paused before its first item
	}
	*g.of.Extend(id) = of
	if state.items++; to.weight > 0 {
		sh.configure(of, state, to)
	}
}

func (sh *shard) newGroup(name string, p position) (of uint32, state *group) {
	g := sh.groups
	of, _ = insert(g.names, p, name)
	state = g.states.Hold(of)
	state.born, state.weight = g.births, 1
	g.births++
	return of, state
}

func (sh *shard) configureAdded(id uint32, to *tag) {
	if to.weight > 0 {
		of := sh.groupOf(id)
		sh.configure(of, sh.groups.at(of), to)
	}
}

func (sh *shard) needGroups() {
	if sh.groups == nil {
		sh.groups = &groups{names: newTable(sh.set.names)}
		if sh.groups.best = &sh.groups.only; sh.set.rules.PrioritiesBeforeTurns {
			sh.groups.circles = &circles{byPriority: map[int]*circle{}}
		}
		sh.table.addColumn(&sh.groups.of)
	}
}

// leaveGroup is called before an entry is removed, and forgets an empty group.
func (sh *shard) leaveGroup(id uint32) {
	if w := sh.table.requested; w != nil {
		w.setRun(id, 0) // the next entry with this id may be of a group without levels
	}
	g, of := sh.groups, sh.groupOf(id)
	state := g.at(of)
	if state.items--; state.items > 0 {
		return
	}
	b := g.bucketOf(of, state)
	if sh.forgettable(state, b) {
		sh.forgetGroup(of, state)
		return
	}
	g.vacant++
	state.ready = runQueue{}
	sh.await(of, b, sh.nextReview(state, b, g.latest))
}

func (sh *shard) forgetGroup(of uint32, state *group) {
	g := sh.groups
	if state.hasBucket {
		b := g.buckets.At(of)
		g.forgotten = max(g.forgotten, b.full)
		sh.await(of, b, never)
		g.buckets.Release(of)
	}
	*state = group{}
	g.states.Release(of)
	g.names.remove(of, g.names.at(of), position{})
}

// A circle has groups that take turns: all, or those of one highest priority.
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

func (sh *shard) circleFor(state *group) *circle {
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

func (sh *shard) enterCircle(id uint32, state *group) {
	g := sh.groups
	state.in = sh.circleFor(state)
	if state.in.turn == 0 {
		g.openCircle(state.in)
	}
	g.link(&state.in.turn, id, state)
}

func (g *groups) leaveCircle(id uint32, state *group) {
	state.served = 0
	if g.unlink(&state.in.turn, id, state); state.in.turn == 0 {
		g.closeCircle(state.in)
	}
	state.in = nil
}

func (sh *shard) followPriority(id uint32) {
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

func (g *groups) next(interval uint32) *circle {
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
