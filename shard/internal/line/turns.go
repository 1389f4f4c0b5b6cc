package line

import (
	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// A roundRobin has the groups that have ready items and may be served, in turns as
// long as their weights. A group with ready items is throttled, and out of it,
// while it is at its limit, has no token, or is paused. A round hands out the
// weights of all groups together. A consumer stays for a round, so that a group
// beside many others gets as much as one that is alone in its shard.
type roundRobin struct {
	best           *circle // the circle that is served, or one with no groups
	only           circle  // the one circle, unless there are others
	circles        *circles
	firstThrottled uint32 // the first of a circle, or 0
	weights        int64  // of the groups in the round robin, together
	left           int64  // the items that the round still hands out
}

type groupPhase uint8

const (
	notReady   groupPhase = iota // the group has no ready items
	selectable                   // the group is in the round robin
	throttled                    // the group has ready items, and is blocked
)

func (g *groups) take(t *items.Table, now uint64, fresh bool) (id uint32, e *items.Entry, priority int, out Outcome) {
	if g.best.turn == 0 {
		return 0, nil, 0, Nothing
	}
	g.left = min(g.left, g.weights) // groups of this round may be gone
	c := g.next()
	of := c.turn
	state := g.at(of)
	if state.hasBucket && !g.spend(of, state, now, fresh) {
		g.throttleIfBlocked(of, state)
		return 0, nil, 0, NoToken
	}
	id, e, priority = state.ready.take(t, false)
	g.processing++
	g.pulled(of, state)
	g.throttleIfBlocked(of, state)
	if state.in == c {
		serve(c, state)
	}
	if g.left--; g.left > 0 {
		return id, e, priority, TurnGoesOn
	}
	g.left = g.weights
	return id, e, priority, TurnOver
}

func serve(c *circle, state *group) {
	if state.served++; state.served >= state.weight {
		state.served, c.turn = 0, state.next
	}
}

func (g *groups) pulled(id uint32, state *group) {
	if g.depth--; state.ready.isEmpty() {
		g.becameEmpty(id, state)
	} else {
		g.followPriority(id, state)
	}
}

func (g *groups) becameReady(id uint32, state *group) {
	if state.blocked() {
		g.throttle(id, state)
	} else {
		g.enterRoundRobin(id, state)
	}
}

func (g *groups) becameEmpty(id uint32, state *group) {
	if state.phase == throttled {
		g.free(id, state)
	} else {
		g.leaveRoundRobin(id, state)
	}
}

func (g *groups) enterRoundRobin(id uint32, state *group) {
	state.phase = selectable
	g.weights += int64(state.weight)
	g.enterCircle(id, state)
}

func (g *groups) leaveRoundRobin(id uint32, state *group) {
	state.phase = notReady
	g.weights -= int64(state.weight)
	g.leaveCircle(id, state)
}

func (g *groups) throttle(id uint32, state *group) {
	state.phase = throttled
	g.countThrottled(state, 1)
	g.link(&g.firstThrottled, id, state)
}

func (g *groups) free(id uint32, state *group) {
	g.countThrottled(state, -1)
	state.phase = notReady
	g.unlink(&g.firstThrottled, id, state)
}

func (g *groups) link(first *uint32, id uint32, state *group) {
	if *first == 0 {
		*first, state.next, state.previous = id, id, id
		return
	}
	head := g.at(*first)
	state.next, state.previous = *first, head.previous
	g.at(head.previous).next = id
	head.previous = id
}

func (g *groups) unlink(first *uint32, id uint32, state *group) {
	if state.next == id {
		*first = 0
		return
	}
	g.at(state.previous).next = state.next
	g.at(state.next).previous = state.previous
	if *first == id {
		*first = state.next
	}
}

func (g *groups) weigh(state *group, weight int32) {
	if state.phase == selectable {
		g.weights += int64(weight) - int64(state.weight)
	}
	state.weight = weight
}

func (g *group) full() bool { return g.limit > 0 && g.ready.processing >= g.limit }

func (g *group) blocked() bool { return g.held != 0 || g.full() }

// reason returns why a group is throttled: first a reason only a caller can
// end.
func (g *group) reason() stats.Throttling {
	switch {
	case g.held&paused != 0:
		return stats.ThrottledByPause
	case g.held&noToken != 0:
		return stats.ThrottledByRate
	}
	return stats.ThrottledByLimit
}

func (g *groups) throttleIfBlocked(id uint32, state *group) {
	if state.phase == selectable && state.blocked() {
		g.leaveRoundRobin(id, state)
		g.throttle(id, state)
	}
}

func (g *groups) finish(entry uint32) (freed bool) {
	of := *chunked.At(&g.of, entry)
	state := g.at(of)
	g.processing--
	state.ready.processing--
	return g.freeUnlessBlocked(of, state)
}

func (g *groups) freeUnlessBlocked(id uint32, state *group) (freed bool) {
	if state.phase != throttled || state.blocked() {
		return false
	}
	g.free(id, state)
	g.enterRoundRobin(id, state)
	return true
}

func (g *groups) countThrottled(state *group, change int32) {
	reason := state.reason()
	g.throttledBy[reason] += change
	if g.changes.Throttled += change; reason == stats.ThrottledByPause {
		g.changes.Paused += change
	}
	g.changes.Count++
	g.changed = true
}
