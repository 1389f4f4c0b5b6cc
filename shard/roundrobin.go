package shard

import (
	"sync/atomic"

	"github.com/shardq/shardq/stats"
)

// A roundRobin has the groups of a shard that have ready items and may be
// served, in turns as long as their weights. A group with ready items is
// throttled, and out of it, while it is at its limit, has no token, or is
// paused. Consumers wait for throttled groups, also after a shutdown.
type roundRobin struct {
	best           *circle // the circle that is served, or one with no groups
	only           circle  // the one circle, unless there are others
	circles        *circles
	firstThrottled uint32 // the first of a circle, or 0
	weights        int64  // of the groups in the round robin, together
	left           int64  // the items that the round still hands out: see takegroup.go
}

type groupPhase uint8

const (
	notReady   groupPhase = iota // the group has no ready items
	selectable                   // the group is in the round robin
	throttled                    // the group has ready items, and is blocked
)

func (sh *shard) groupBecameReady(id uint32, state *group) {
	if state.blocked() {
		sh.set.throttled.more() // before the count of paused groups: see mayLeave
		sh.throttle(id, state)
	} else {
		sh.enterRoundRobin(id, state)
	}
}

func (sh *shard) groupBecameEmpty(id uint32, state *group) {
	if state.phase == throttled {
		sh.unthrottle(id, state)
		sh.set.throttled.less()
	} else {
		sh.leaveRoundRobin(id, state)
	}
}

func (sh *shard) enterRoundRobin(id uint32, state *group) {
	g := sh.groups
	state.phase = selectable
	g.weights += int64(state.weight)
	if g.best.turn == 0 {
		sh.set.markReady(sh.number)
	}
	sh.enterCircle(id, state)
}

func (sh *shard) leaveRoundRobin(id uint32, state *group) {
	g := sh.groups
	state.phase = notReady
	g.weights -= int64(state.weight)
	g.leaveCircle(id, state)
	if g.best.turn == 0 {
		sh.set.markEmpty(sh.number)
	}
}

func (sh *shard) throttle(id uint32, state *group) {
	state.phase = throttled
	sh.countThrottled(state, 1)
	sh.groups.link(&sh.groups.firstThrottled, id, state)
}

func (sh *shard) unthrottle(id uint32, state *group) {
	sh.countThrottled(state, -1)
	state.phase = notReady
	sh.groups.unlink(&sh.groups.firstThrottled, id, state)
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

// reason returns why a group is throttled, first what only a caller can end.
func (g *group) reason() stats.Throttling {
	switch {
	case g.held&paused != 0:
		return stats.ThrottledByPause
	case g.held&noToken != 0:
		return stats.ThrottledByRate
	}
	return stats.ThrottledByLimit
}

func (sh *shard) throttleIfBlocked(id uint32, state *group) {
	if state.phase == selectable && state.blocked() {
		sh.set.throttled.more() // before the ready bit may be cleared: see await
		sh.leaveRoundRobin(id, state)
		sh.throttle(id, state)
	}
}

func (sh *shard) endInGroup(id uint32) (freed bool) {
	of := sh.groupOf(id)
	state := sh.groups.at(of)
	sh.groups.processing--
	state.ready.processing--
	return sh.freeUnlessBlocked(of, state)
}

func (sh *shard) freeUnlessBlocked(id uint32, state *group) (freed bool) {
	if state.phase != throttled || state.blocked() {
		return false
	}
	sh.unthrottle(id, state)
	sh.enterRoundRobin(id, state) // which sets the ready bit before the count falls: see await
	sh.set.throttled.less()
	return true
}

// A throttleCount counts the throttled groups of a set, and its changes, in one
// word. A reader that finds the same word twice knows that no group was
// throttled or freed between. It is written under the shards' locks.
type throttleCount struct {
	word atomic.Uint64
}

// oneChange counts in the half of the word above the count.
const oneChange = 1 << 32

func (c *throttleCount) more() { c.word.Add(oneChange + 1) }
func (c *throttleCount) less() { c.word.Add(oneChange - 1) } // the count is not 0

func (c *throttleCount) changed() { c.word.Add(oneChange) }

func (c *throttleCount) read() (word uint64, count uint32) {
	word = c.word.Load()
	return word, uint32(word)
}

func (c *throttleCount) noneSince(before uint64) bool {
	word, _ := c.read()
	return word == before
}
