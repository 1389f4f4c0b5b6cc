package shard

import "sync/atomic"

// A parker blocks and wakes consumers. It is an eventcount with a throttle like
// that of the Go scheduler's worker threads (runtime/proc.go, "Worker thread
// parking/unparking"). There is one wake token, and the consumer that holds it
// is the one that is searching.
//
//	consumer                             producer
//	  announce: parked++                   publish: set the shard's ready bit
//	  check: anything ready? → withdraw    check: parked > 0?
//	  block: receive the token             and none searching? → send the token
//	  search for an item
//	  clear searching
//	  check: still anything ready? → send the token on
//
// No wake-up is lost, because Go's atomics are sequentially consistent. Of
// "announce; check" and "publish; check", one side's check comes last and sees
// what the other did. If it is the producer's, and the token is out, there are
// two cases. A consumer holds the token, and will check again after clearing
// searching. Or the token is in the channel, and the next consumer to block
// receives it at once. Without the consumer's check, or the searcher's last
// check, an item could stay ready beside a parked consumer forever.
//
// The throttle matters: when each Add woke a consumer, producers spent their
// time in the scheduler, and the woken consumers found the item gone.
type parker struct {
	parked    atomic.Int32 // the consumers between announcing and waking
	searching atomic.Bool  // the token is in the channel, or held by a consumer about to search
	// token has room for the one token, so that sending it never blocks. Its
	// receivers are the parked consumers, in order. The channel belongs to this
	// queue alone, so that a testing/synctest bubble can own it.
	token chan struct{}
}

// wake wakes a parked consumer, unless one is searching already. It must be
// called after something was published, with no lock held.
func (s *Core) wake() {
	if s.parker.parked.Load() > 0 {
		s.sendToken()
	}
}

func (s *Core) sendToken() {
	if !s.parker.searching.Load() && s.parker.searching.CompareAndSwap(false, true) {
		s.parker.token <- struct{}{}
	}
}

// wokenPending: a consumer was sent the token, but is not searching.
func (p *parker) wokenPending() bool { return p.searching.Load() && p.parked.Load() > 0 }

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
	// canceledParked: it owes nothing. A token that comes later stays in the
	// channel, and the next consumer to block receives it.
	canceledParked
)

// park announces a consumer, checks once more, and blocks.
func (s *Core) park(cancel <-chan struct{}) parking {
	s.parker.parked.Add(1)
	defer s.parker.parked.Add(-1)
	if s.servableNow() || s.mayLeave() {
		return withdrawn
	}
	if cancel == nil { // a plain receive is cheaper than a select
		<-s.parker.token
		return searcher
	}
	select {
	case <-s.parker.token:
		return searcher
	case <-cancel:
		return canceledParked
	}
}

// passOn is called after a search. What was published while searching was true
// was left to this consumer, so it checks after clearing it. After a shutdown
// each searching consumer wakes the next: a broadcast, one by one.
func (s *Core) passOn() {
	s.parker.searching.Store(false)
	if s.servableNow() || s.mayLeave() {
		s.wake()
	}
}
