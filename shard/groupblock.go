package shard

import (
	"math"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/stats"
)

// blocks are reasons, besides its limit, why no Get visits a group. The driver
// reviews it when its wait ends, so that adds need not read the clock.
type blocks uint8

const (
	noToken blocks = 1 << iota // its bucket is empty
	paused
)

// A groupBucket has the rate of a group, and its pause. A group without items
// is remembered while either counts: it would begin again with a full bucket.
type groupBucket struct {
	full     uint64 // the moment at which the bucket is full again
	rate     rate
	wanted   rate   // replaces rate when the clock was read, to convert the tokens
	until    uint64 // the moment at which the pause ends, or never
	deadline uint64 // the tick at which the group is reviewed
	place    int32  // among the waiting groups, from 1 on, or 0
}

func (b *groupBucket) adopt(now uint64) {
	if b.rate != b.wanted {
		b.full = b.rate.convert(b.full, now, b.wanted)
		b.rate = b.wanted
	}
}

func (g *groups[T]) bucketOf(id uint32, state *group[T]) *groupBucket {
	if !state.hasBucket {
		return nil
	}
	return g.buckets.At(id)
}

func (g *groups[T]) needBucket(id uint32, state *group[T]) *groupBucket {
	if !state.hasBucket {
		if g.buckets == nil {
			g.buckets = &chunked.Array[groupBucket]{}
		}
		*g.buckets.Hold(id) = groupBucket{}
		state.hasBucket = true
	}
	return g.buckets.At(id)
}

// configure takes the policy of a group. An add neither reads the clock nor
// wakes consumers of others, so a greater limit frees the group at its next
// Done, and another rate counts from the next item on: see review.
func (sh *shard[T]) configure(id uint32, state *group[T], to *tag) {
	g := sh.groups
	g.weigh(state, to.weight)
	if state.limit = to.limit; state.full() {
		sh.throttleIfBlocked(id, state)
	}
	if state.hasBucket || to.rate.limits() {
		g.needBucket(id, state).wanted = to.rate
		g.rated = g.rated || to.rate.limits()
	}
}

// spend takes a token, at the reading of the clock with which the take began.
func (sh *shard[T]) spend(id uint32, state *group[T], now uint64) {
	g := sh.groups
	b := g.bucketOf(id, state)
	if b == nil {
		return
	}
	g.latest = max(g.latest, now)
	b.adopt(now)
	if !b.rate.limits() {
		return
	}
	b.full = b.rate.spend(b.full, now, sh.set.time.tick)
	if opens := b.rate.opens(b.full); opens > now {
		state.held |= noToken
		sh.await(id, b, sh.set.time.tickAt(opens))
	}
}

// review decides again what blocks a group.
func (sh *shard[T]) review(id uint32, now uint64) (freed bool) {
	g := sh.groups
	state := g.at(id)
	b := g.bucketOf(id, state)
	g.latest = max(g.latest, now)
	if b != nil {
		b.adopt(now)
		sh.setBlock(state, noToken, b.rate.opens(b.full) > now)
		sh.setBlock(state, paused, b.until > now)
	}
	sh.throttleIfBlocked(id, state)
	freed = sh.freeUnlessBlocked(id, state)
	if b != nil {
		sh.await(id, b, sh.nextReview(state, b, now))
	}
	if state.items == 0 && sh.forgettable(state, b) {
		g.vacant--
		sh.forgetGroup(id, state)
		sh.releaseIfDue()
	}
	return freed
}

func (sh *shard[T]) setBlock(state *group[T], reason blocks, holds bool) {
	if (state.held&reason != 0) == holds {
		return
	}
	sh.countThrottled(state, -1)
	state.held ^= reason
	if sh.countThrottled(state, 1); state.phase == throttled {
		sh.set.throttled.changed() // after the count of paused groups: see mayLeave
	}
}

func (sh *shard[T]) countThrottled(state *group[T], change int32) {
	if state.phase != throttled {
		return
	}
	reason := state.reason()
	if sh.groups.throttledBy[reason] += change; reason == stats.ThrottledByPause {
		sh.set.pausedGroups.Add(change)
	}
}

// nextReview returns when a group is free, or can be forgotten.
func (sh *shard[T]) nextReview(state *group[T], b *groupBucket, now uint64) (tick uint64) {
	at := uint64(0)
	if state.held&noToken != 0 {
		at = b.rate.opens(b.full)
	}
	if state.held&paused != 0 {
		at = max(at, b.until)
	}
	if at == 0 && state.items == 0 && b.full > now {
		at = b.full
	}
	if at == 0 {
		return never
	}
	return sh.set.time.tickAt(at)
}

// forgettable goes by the last reading of the clock.
func (sh *shard[T]) forgettable(state *group[T], b *groupBucket) bool {
	return b == nil || state.held == 0 && b.full <= sh.groups.latest
}

// tickAt returns the first tick that begins at or after a moment.
func (t *timebase) tickAt(moment uint64) uint64 {
	if moment == math.MaxUint64 {
		return never
	}
	return t.after(moment, 0)
}
