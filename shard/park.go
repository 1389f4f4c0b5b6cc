package shard

// wake wakes a parked consumer. It must be called after something was published,
// with no lock held.
func (s *Core) wake() { s.parker.Wake() }

// anyReady: if false, each shard was empty at some moment during the call.
func (s *Core) anyReady() bool {
	if len(s.shards.all) > 1 {
		return s.shards.ready.Any()
	}
	sh := s.shard(0)
	sh.lock()
	defer sh.unlock()
	return sh.line.CanTake()
}

// A nil cancel is never closed.
func (s *Core) await(cancel <-chan struct{}, most int, put receiver) (n int, shutdown, canceled bool) {
	for {
		before, _ := s.throttled.read()
		closed := s.mayLeave() // before taking: see closing
		if n := s.takeSome(most, put); n > 0 {
			return n, false, false
		}
		// No group was throttled or freed since, so takeSome has seen all that
		// was ready, except what is behind a closed gate, which may have changed.
		if closed && s.throttled.noneSince(before) && s.mayLeave() {
			return 0, true, false
		}
		switch s.park(cancel) {
		case withdrawn:
		case canceledParked:
			return 0, false, true
		case searcher:
			if n := s.search(most, put); n > 0 {
				return n, false, false
			}
		}
	}
}

// search passes the token on even if reading the clock panics.
func (s *Core) search(most int, put receiver) (n int) {
	defer s.passOn()
	return s.takeSome(most, put)
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
