package shard

import (
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

func (g *groups) bucketOf(id uint32, state *group) *groupBucket {
	if !state.hasBucket {
		return nil
	}
	return g.buckets.At(id)
}

func (g *groups) needBucket(id uint32, state *group) *groupBucket {
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
// wakes others, so a greater limit counts at the next Done of the group, and
// another rate from the next item on: see review.
func (sh *shard) configure(id uint32, state *group, to *tag) {
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
// A group in the round robin may have none: if the clock was set back, or by a
// change of its rate. A bucket that was not used yet was perhaps forgotten at a
// reading that is still to come. If there is no token, the group waits for it,
// unless the reading is old.
func (sh *shard) spend(id uint32, state *group, now uint64, fresh bool) (ok bool) {
	g, b := sh.groups, sh.groups.buckets.At(id)
	b.adopt(now)
	if b.full == 0 && g.forgotten > now {
		b.full = g.forgotten
	}
	if ok = b.rate.opens(b.full) <= now; !ok && !fresh {
		return false
	}
	if g.latest = now; ok && b.rate.limits() {
		b.full = b.rate.spend(b.full, now, sh.set.time.Tick)
	}
	if opens := b.rate.opens(b.full); opens > now {
		state.held |= noToken
		sh.await(id, b, sh.set.time.TickAt(opens))
	}
	return ok
}

func (sh *shard) review(id uint32, now uint64) (freed bool) {
	g := sh.groups
	state := g.at(id)
	b := g.bucketOf(id, state)
	g.latest = now
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

func (sh *shard) setBlock(state *group, reason blocks, holds bool) {
	if (state.held&reason != 0) == holds {
		return
	}
	sh.countThrottled(state, -1)
	state.held ^= reason
	if sh.countThrottled(state, 1); state.phase == throttled {
		sh.set.throttled.changed() // after the count of paused groups: see mayLeave
	}
}

func (sh *shard) countThrottled(state *group, change int32) {
	if state.phase != throttled {
		return
	}
	reason := state.reason()
	if sh.groups.throttledBy[reason] += change; reason == stats.ThrottledByPause {
		sh.set.pausedGroups.Add(change)
	}
}

func (sh *shard) nextReview(state *group, b *groupBucket, now uint64) (tick uint64) {
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
	return sh.set.time.TickAt(at)
}

// forgettable goes by the last reading of the clock.
func (sh *shard) forgettable(state *group, b *groupBucket) bool {
	return b == nil || state.held == 0 && b.full <= sh.groups.latest
}

// await makes a group wait for a tick. Waiting groups form a heap by deadlines,
// not a timing wheel, because deadlines also follow a clock that was set back.
func (sh *shard) await(id uint32, b *groupBucket, deadline uint64) {
	g := sh.groups
	switch {
	case deadline == never && b.place == 0:
		return
	case deadline == never:
		g.stopWaiting(b)
	default:
		if b.place == 0 {
			g.waiting = append(g.waiting, id)
			b.place = int32(len(g.waiting))
		}
		b.deadline = deadline
		g.rise(b)
		g.sink(b)
	}
	sh.publishWait()
}

// publishWait publishes the first deadline, apart from the shard's next,
// because a shutdown ends delays, but not waits. If the timer may be later, the
// driver must be told once the lock is released: see regrouped.
func (sh *shard) publishWait() {
	g, next := sh.groups, uint64(never)
	if len(g.waiting) > 0 {
		next = g.buckets.At(g.waiting[0]).deadline
	}
	sh.set.waits[sh.number].Store(next)
	if next < sh.set.driver.armed.Load() {
		g.filed = true
	}
}

// regrouped returns the effect of waits filed in this hold of the lock.
func (sh *shard) regrouped() effects {
	if g := sh.groups; g != nil && g.filed {
		g.filed = false
		return files
	}
	return 0
}

func (s *Core) endWaits(sh *shard, at reading) effects {
	sh.lock()
	defer sh.unlock()
	fx := effects(0)
	for range stepsPerHold {
		g := sh.groups
		if g == nil || len(g.waiting) == 0 || g.buckets.At(g.waiting[0]).deadline > at.now {
			break
		}
		// The next deadline is later than this reading: each is reviewed once.
		if sh.review(g.waiting[0], at.nanoseconds) {
			fx |= wakes
		}
	}
	return fx | sh.reportsDue()&^files // the caller is the driver
}

func (s *Core) earliestWait() uint64 {
	earliest := s.gate.opens.Load()
	for i := range s.waits {
		earliest = min(earliest, s.waits[i].Load())
	}
	return earliest
}

// endWaitsDue opens the gate, too, and reports whether any wait was over.
func (s *Core) endWaitsDue(at reading) (any bool) {
	for i := range s.waits {
		if s.waits[i].Load() <= at.now {
			any = true
			s.publish(s.endWaits(s.shard(i), at))
		}
	}
	if opens := s.gate.opens.Load(); opens <= at.now && s.gate.opens.CompareAndSwap(opens, never) {
		any = true
		s.wake()
	}
	return any
}

func (g *groups) stopWaiting(b *groupBucket) {
	last := g.buckets.At(g.waiting[len(g.waiting)-1])
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

func (g *groups) waiter(place int32) *groupBucket { return g.buckets.At(g.waiting[place-1]) }

func (g *groups) rise(b *groupBucket) {
	for b.place > 1 && g.waiter(b.place/2).deadline > b.deadline {
		g.swap(b, g.waiter(b.place/2))
	}
}

func (g *groups) sink(b *groupBucket) {
	for last := int32(len(g.waiting)); 2*b.place <= last; {
		child := g.waiter(2 * b.place)
		if child.place < last && g.waiter(child.place+1).deadline < child.deadline {
			child = g.waiter(child.place + 1)
		}
		if child.deadline >= b.deadline {
			return
		}
		g.swap(b, child)
	}
}

func (g *groups) swap(a, b *groupBucket) {
	g.waiting[a.place-1], g.waiting[b.place-1] = g.waiting[b.place-1], g.waiting[a.place-1]
	a.place, b.place = b.place, a.place
}
