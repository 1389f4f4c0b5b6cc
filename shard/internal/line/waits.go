package line

import (
	"slices"

	"github.com/shardq/shardq/internal/chunked"
)

// blocks are the reasons why a group is throttled, except its limit.
type blocks uint8

const (
	noToken blocks = 1 << iota // its bucket is empty
	paused
	outdated // its first policy, which is being asked for again
)

// A bucket has the rate of a group, and its pause. A group without items is
// remembered while its bucket is not full, or it is paused: a forgotten group
// would begin again with a full bucket, and without the pause.
type bucket struct {
	full   uint64 // the moment at which the bucket is full again
	rate   Rate
	wanted Rate   // replaces rate when the time is known, to convert the tokens
	until  uint64 // the moment at which the pause ends, or Never
	review uint64 // the tick at which the group is reviewed
	place  int32  // among the waiting groups, from 1 on, or 0
}

func (b *bucket) adopt(now uint64) {
	if b.rate != b.wanted {
		b.full = b.rate.Convert(b.full, now, b.wanted)
		b.rate = b.wanted
	}
}

func (g *groups) bucketOf(id uint32, state *group) *bucket {
	if !state.hasBucket {
		return nil
	}
	return chunked.At(&g.buckets, id)
}

func (g *groups) needBucket(id uint32, state *group) *bucket {
	if !state.hasBucket {
		*chunked.Hold(&g.buckets, id) = bucket{}
		state.hasBucket = true
	}
	return chunked.At(&g.buckets, id)
}

// spend takes a token. A group in the round robin may have none, after the
// clock was set back or its rate changed. A new bucket may be that of a group
// that was forgotten before the clock was set back, and counts from then. If
// there is no token, the group waits for it, unless now is an old reading.
func (g *groups) spend(id uint32, state *group, now uint64, fresh bool) (ok bool) {
	b := chunked.At(&g.buckets, id)
	b.adopt(now)
	if b.full == 0 && g.forgotten > now {
		b.full = g.forgotten
	}
	if ok = b.rate.Opens(b.full) <= now; !ok && !fresh {
		return false
	}
	if g.latest = now; ok && b.rate.Limits() {
		b.full = b.rate.Spend(b.full, now, g.config.Tick)
	}
	if opens := b.rate.Opens(b.full); opens > now {
		state.held |= noToken
		g.await(id, b, opens)
	}
	return ok
}

// review finds out what blocks a group at a moment.
func (g *groups) review(id uint32, now uint64) (freed bool) {
	state := g.at(id)
	b := g.bucketOf(id, state)
	g.latest = now
	if b != nil {
		b.adopt(now)
		g.setBlock(state, noToken, b.rate.Opens(b.full) > now)
		g.setBlock(state, paused, b.until > now)
	}
	g.throttleIfBlocked(id, state)
	freed = g.freeUnlessBlocked(id, state)
	if b != nil {
		g.await(id, b, state.nextReview(b, now))
	}
	if state.items == 0 && g.forgettable(state, b) {
		g.vacant--
		g.forget(id, state)
	}
	return freed
}

func (g *groups) setBlock(state *group, reason blocks, holds bool) {
	switch {
	case (state.held&reason != 0) == holds:
	case state.phase == throttled:
		g.countThrottled(state, -1)
		state.held ^= reason
		g.countThrottled(state, 1)
	default:
		state.held ^= reason
	}
}

func (state *group) nextReview(b *bucket, now uint64) (at uint64) {
	if state.held&noToken != 0 {
		at = b.rate.Opens(b.full)
	}
	if state.held&paused != 0 {
		at = max(at, b.until)
	}
	if at == 0 && state.items == 0 && b.full > now {
		at = b.full
	}
	if at == 0 {
		return Never
	}
	return at
}

// forgettable reports whether a group without items can be forgotten. It goes
// by the last moment that is known.
func (g *groups) forgettable(state *group, b *bucket) bool {
	return b == nil || state.held == 0 && b.full <= g.latest
}

// EndWaits reviews the groups whose wait ends by a tick, up to the number most.
// After their review they are not due any more.
func (l *Line) EndWaits(tick, now uint64, most int) (freed bool) {
	g := l.groups
	for range most {
		if l.FirstWait() > tick {
			break
		}
		freed = g.review(g.waiting[0], now) || freed
	}
	return freed
}

// FirstWait returns the tick at which the earliest wait of any group ends, or Never.
func (l *Line) FirstWait() uint64 {
	if l.groups == nil || len(l.groups.waiting) == 0 {
		return Never
	}
	return l.groups.waiter(1).review
}

// Frees reports whether a throttled group is freed by a tick. If many groups
// wait, it returns true as soon as one of them is due by then, although that
// one may have no ready items.
func (l *Line) Frees(tick uint64) bool {
	g := l.groups
	return l.FirstWait() <= tick && (len(g.waiting) > manyWait || slices.ContainsFunc(g.waiting, func(id uint32) bool {
		return g.at(id).phase == throttled && chunked.At(&g.buckets, id).review <= tick
	}))
}

const manyWait = 256

// await makes a group wait for a review, not before a moment. Waiting groups form a
// heap, not a timing wheel, because the moments also follow a clock that was set
// back.
func (g *groups) await(id uint32, b *bucket, moment uint64) {
	g.changes.Wait, g.changed = true, true
	switch {
	case moment == Never && b.place == 0:
	case moment == Never:
		g.stopWaiting(b)
	default:
		if b.place == 0 {
			g.waiting = append(g.waiting, id)
			b.place = int32(len(g.waiting))
		}
		b.review = g.config.tickAt(moment)
		g.rise(b)
		g.sink(b)
	}
}

func (g *groups) stopWaiting(b *bucket) {
	last := chunked.At(&g.buckets, g.waiting[len(g.waiting)-1])
	g.swap(b, last)
	g.waiting = g.waiting[:len(g.waiting)-1]
	b.place = 0
	if b != last {
		g.rise(last)
		g.sink(last)
	}
	if cap(g.waiting) > 64 && len(g.waiting) < cap(g.waiting)/4 {
		g.waiting = append(make([]uint32, 0, cap(g.waiting)/2), g.waiting...)
	}
}

func (g *groups) waiter(place int32) *bucket { return chunked.At(&g.buckets, g.waiting[place-1]) }

func (g *groups) rise(b *bucket) {
	for b.place > 1 && g.waiter(b.place/2).review > b.review {
		g.swap(b, g.waiter(b.place/2))
	}
}

func (g *groups) sink(b *bucket) {
	for last := int32(len(g.waiting)); 2*b.place <= last; {
		child := g.waiter(2 * b.place)
		if child.place < last && g.waiter(child.place+1).review < child.review {
			child = g.waiter(child.place + 1)
		}
		if child.review >= b.review {
			return
		}
		g.swap(b, child)
	}
}

func (g *groups) swap(a, b *bucket) {
	g.waiting[a.place-1], g.waiting[b.place-1] = g.waiting[b.place-1], g.waiting[a.place-1]
	a.place, b.place = b.place, a.place
}
