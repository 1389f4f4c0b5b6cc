package shard

import (
	"math"
	"time"
)

// A Backlog counts what more consumers could do.
type Backlog struct {
	// Ready is the number of ready items that consumers would get at once, if
	// there were enough of them. It leaves out what must wait for a limit, a
	// rate or the end of a pause. It may be too low if a shard has more than
	// mostGroupsAsked groups. Oldest is how long the oldest of these items has
	// been ready, as in [stats.Shard].
	Ready  int
	Oldest time.Duration
	// Processing is the number of items in processing.
	Processing int
}

// Backlog returns a reading. It locks one shard after the other.
func (s *Set[T]) Backlog() (b Backlog) {
	now := s.present()
	for sh := range s.made() {
		s.withLock(sh, func() (visited int, more bool) { return sh.addBacklogTo(&b, sh.seen(now)), false })
	}
	if b.Ready = min(b.Ready, s.gate.tokens(now.now)); b.Ready == 0 {
		b.Oldest = 0
	}
	return b
}

// addBacklogTo adds the backlog of the shard. It returns the number of groups
// that it asked.
func (sh *shard[T]) addBacklogTo(b *Backlog, now uint64) (asked int) {
	b.Processing += int(sh.processing())
	if sh.table == nil {
		return 0
	}
	add := func(ready int, head uint32) {
		b.Ready += ready
		if sh.set.ages {
			b.Oldest = max(b.Oldest, sh.age(head, now))
		}
	}
	if sh.groups == nil {
		add(int(sh.ready.depth()), sh.ready.fifo.head)
		return 1
	}
	for id := range sh.groups.selectable() {
		state := sh.groups.at(id)
		if n := sh.groups.servable(id, state, now); n > 0 {
			add(n, state.ready.fifo.head)
		}
		if asked++; asked == mostGroupsAsked {
			break
		}
	}
	return asked
}

// servable returns the number of items of a group of the round robin that its
// limit and its rate let through now.
func (g *groups[T]) servable(id uint32, state *group[T], now uint64) int {
	n := state.ready.depth()
	if state.limit > 0 {
		n = min(n, state.limit-state.ready.processing)
	}
	if b := g.bucketOf(id, state); b != nil {
		then := *b
		then.adopt(now) // as the next take will
		return min(int(n), then.rate.tokens(then.full, now))
	}
	return int(n)
}

// tokens returns the number of items that the gate lets through now.
func (g *gate) tokens(now uint64) int {
	if g.closed() {
		return 0
	}
	if b := g.bucket.Load(); b != nil {
		return b.rate.tokens(b.full.Load(), now)
	}
	return math.MaxInt
}
