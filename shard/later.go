package shard

import (
	"slices"
	"time"
)

// Two callers ask whether anything can be handed out before something happens
// outside, such as an add, a Done or a Resume: a consumer after a shutdown, to
// leave, and a drain with a deadline, to end. Both ask the gate. A consumer has no
// deadline and asks at each park, so it reads two counts and locks no shard. It
// waits for paused items until ShutDown is called, and leaves beside items in
// processing (C10). A drain asks each shard, and waits for no paused item.

// mayLeave reports whether a consumer that finds nothing ready may leave: a
// shutdown is complete, and nothing is to be handed out later. Otherwise the
// call that ends the last throttling wakes the parked consumers.
//
// The race to lose: all throttled groups are paused; a consumer reads their
// count; one is freed; the consumer reads the count of paused groups, when as
// many others are paused, and leaves beside a ready item. It cannot happen,
// because each change of either count changes the word that await reads before
// and after. A group is counted as throttled before it is counted as paused, and
// the reverse when it is freed.
func (s *Core) mayLeave() bool {
	if !s.closing.complete.Load() {
		return false
	}
	leaving := s.closing.leaving.Load()
	if leaving && s.gate.shutUntil(never) {
		return true
	}
	_, count := s.throttled.read()
	free := count != 0 && !(leaving && uint32(s.pausedGroups.Load()) == count)
	return !free && !(s.gate.used.Load() && s.anyReady())
}

// isStill reports whether nothing is in processing, and nothing can be handed
// out by a deadline. The clock is taken to run with real time, unless it has a
// method Step. Each shard reports its next halt.
func (s *Core) isStill(deadline time.Time) bool {
	if s.time.Steps {
		return false
	}
	by := s.time.Nanoseconds() + uint64(max(0, time.Until(deadline)))
	shut := s.gate.shutUntil(by)
	all := !shut || s.gate.entered.Load() == 0 // after the gate, and before what a take may change
	for sh := range s.made() {
		all = sh.isStill(by/s.time.Tick, shut) && all
	}
	return all
}

func (s *Core) recheckDrains() {
	if s.closing.refusing.Load() {
		s.stilled.release()
	}
}

func (sh *shard) isStill(until uint64, shut bool) bool {
	sh.lock()
	defer sh.unlock()
	sh.owes |= owed(still)
	return sh.processing() == 0 && (shut || !sh.servable() && sh.wheel.next() > until && !sh.groups.frees(until))
}

// mayBeStill is asked at the end of each hold of a shard that owes a report.
func (sh *shard) mayBeStill() bool {
	return sh.processing() == 0 && (!sh.servable() || sh.set.gate.used.Load())
}

// shutUntil reports whether the gate lets nothing pass until a moment.
func (g *gate) shutUntil(moment uint64) bool {
	if g.paused.Load() {
		return true
	}
	b := g.bucket.Load()
	if b == nil {
		return false
	}
	full := b.full.Load()
	return full != replaced && b.rate.opens(full) > moment
}

// servable reports whether an item is ready, and in no throttled group.
func (sh *shard) servable() bool {
	return sh.groups == nil && !sh.ready.isEmpty() || sh.groups != nil && sh.groups.best.turn != 0
}

// frees reports whether a throttled group is freed by a tick. If many groups
// wait, one that is due by then is enough, also one without ready items.
func (g *groups) frees(until uint64) bool {
	return g != nil && len(g.waiting) > 0 && g.waiter(1).deadline <= until &&
		(len(g.waiting) > rowsPerHold || slices.ContainsFunc(g.waiting, func(id uint32) bool {
			return g.at(id).phase == throttled && g.buckets.At(id).deadline <= until
		}))
}
