package shard

// wake wakes a parked consumer. It must be called after something was published,
// with no lock held.
func (s *Core) wake() { s.parker.Wake() }

// anyReady returns false if each shard was empty at some moment during the
// call.
func (s *Core) anyReady() bool {
	if len(s.shards.all) > 1 {
		return s.shards.ready.Any()
	}
	sh := s.shard(0)
	sh.lock()
	defer sh.unlock()
	return sh.line.CanTake()
}

type parking uint8

const (
	withdrawn parking = iota // it did not block: there was something to check
	searcher                 // it was woken, and holds the token
	canceledParked
)

// park announces a consumer, checks once more, and blocks.
func (s *Core) park(cancel <-chan struct{}) parking {
	s.parker.Announce()
	defer s.parker.Withdraw()
	if s.servableNow() || s.mayLeave() {
		return withdrawn
	}
	if !s.parker.Block(cancel) {
		return canceledParked
	}
	return searcher
}

// passOn is called after a search. What was published while searching was true
// was left to this consumer, so it checks after clearing it. After a shutdown
// each searching consumer wakes the next: a broadcast, one by one.
func (s *Core) passOn() {
	s.parker.StopSearching()
	if s.servableNow() || s.mayLeave() {
		s.wake()
	}
}

func (s *Core) wakeIfServable() {
	if s.servableNow() {
		s.wake()
	}
}

func (s *Core) servableNow() bool { return !s.gate.closed() && s.anyReady() }

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
