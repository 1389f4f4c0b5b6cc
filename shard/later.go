package shard

import (
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
	free := count != 0 && !(leaving && uint32(s.throttled.paused.Load()) == count)
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
	left := false                              // or the last report is under way
	for sh := range s.shards.made() {
		still, empty := sh.isStill(by/s.time.Tick, shut)
		all, left = still && all, left || !empty
	}
	return all && left
}

func (s *Core) recheckDrains() {
	if s.closing.refusing.Load() {
		s.drains.stilled.release()
	}
}

func (sh *shard) isStill(until uint64, shut bool) (is, empty bool) {
	sh.lock()
	defer sh.unlock()
	sh.owes |= owed(still)
	is = sh.line.Processing() == 0 && (shut || !sh.line.CanTake() && sh.wheel.next() > until && !sh.line.Frees(until))
	return is, sh.isEmpty()
}

// mayBeStill is asked at the end of each hold of a shard that owes a report.
func (sh *shard) mayBeStill() bool {
	return sh.line.Processing() == 0 && (!sh.line.CanTake() || sh.set.gate.used.Load())
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
	return full != replaced && b.rate.Opens(full) > moment
}
