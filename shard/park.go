package shard

import "github.com/shardq/shardq/internal/shared"

// How consumers sleep and wake. It is an eventcount with a throttle like that of
// the Go scheduler's worker threads (runtime/proc.go, "Worker thread
// parking/unparking"): there is one token; whoever holds it is the one searcher.
//
//	consumer                             producer
//	  announce: parked++                   publish: set the shard's ready bit
//	  look: anything ready? → withdraw     look: parked > 0?
//	  sleep: receive the token             and nobody searching? → send the token
//	  search for an item
//	  clear searching
//	  look: still anything ready? → send the token on
//
// No wake-up is lost, because Go's atomics are sequentially consistent. Of
// "announce; look" and "publish; look", one side's look comes last and sees what
// the other did. If it is the producer's, and it finds the token out, then somebody
// holds it who will look again after clearing searching, or it lies in the channel
// and the next to sleep wakes at once. Take away the consumer's look, or the
// searcher's last look, and an item can lie ready beside a sleeper for ever.
//
// The throttle matters: when each Add woke a sleeper, producers spent their time in
// the scheduler, and the woken found the item gone.
type lot struct {
	// parked counts the consumers between announcing and waking.
	parked shared.Int32[shared.Parking]
	// searching is true while the token is out: in the channel, or in the hands
	// of a consumer that has not yet looked for an item.
	searching shared.Bool[shared.Parking]
	// token has room for the one token, so that sending it never blocks. Its
	// queue of receivers is the list of sleepers, in their order; it belongs to
	// this queue alone, so that a testing/synctest bubble can own it.
	token chan struct{}
}

func newLot() lot { return lot{token: make(chan struct{}, 1)} }

// wake sees to it that a sleeper looks for work, if there is both and nobody is
// looking yet. It is to be called after something was published, with no lock held.
func (s *Set[T]) wake() {
	if s.lot.parked.Load() > 0 {
		s.sendToken()
	}
}

func (s *Set[T]) sendToken() {
	if !s.lot.searching.Load() && s.lot.searching.CompareAndSwap(false, true) {
		s.lot.token <- struct{}{}
		shared.Passed[shared.Parking](s.lot.token)
	}
}

// wokenWaits reports whether a sleeper has been sent the token and has not come to
// look yet. A token that nobody sleeps for does not count.
func (l *lot) wokenWaits() bool { return l.searching.Load() && l.parked.Load() > 0 }

// await blocks until there is something to hand out, the queue is shut down, or cancel is
// closed; a nil cancel never is. It returns how many items that was.
func (s *Set[T]) await(cancel <-chan struct{}, h hand[T]) (n int, shutdown, canceled bool) {
	for {
		closed := s.mayLeave() // before the look: see closing
		before, _ := s.heldBack.read()
		if n := s.takeSome(h); n > 0 {
			return n, false, false
		}
		// If nothing was held back or freed since, the look has seen all that was ready.
		if closed && s.heldBack.noneSince(before) {
			return 0, true, false
		}
		switch s.park(cancel) {
		case withdrawn:
		case canceledAsleep:
			return 0, false, true
		case searcher:
			if n := s.search(h); n > 0 {
				return n, false, false
			}
		}
	}
}

// search is what the searcher does. It passes the token on also if the clock panics, which
// a look may read.
func (s *Set[T]) search(h hand[T]) (n int) {
	defer s.passOn()
	return s.takeSome(h)
}

// parking is how a consumer's visit to the lot ended.
type parking uint8

const (
	// withdrawn: it did not sleep, since there was something to look at.
	withdrawn parking = iota
	// searcher: it was woken, and holds the token.
	searcher
	// canceledAsleep: it gave up, and owes nothing: had it been chosen for the
	// token, then select would have said so, and a token that came too late for
	// it lies in the channel for the next to sleep.
	canceledAsleep
)

// park announces a consumer, looks once more, and sleeps.
func (s *Set[T]) park(cancel <-chan struct{}) parking {
	s.lot.parked.Add(1)
	defer s.lot.parked.Add(-1)
	if s.anyReady() || s.mayLeave() {
		return withdrawn
	}
	if cancel == nil { // a plain receive is cheaper than a select
		<-s.lot.token
		shared.Passed[shared.Parking](s.lot.token)
		return searcher
	}
	select {
	case <-s.lot.token:
		shared.Passed[shared.Parking](s.lot.token)
		return searcher
	case <-cancel:
		return canceledAsleep
	}
}

// passOn is called by the searcher after its search, successful or not. What was
// published while searching was true was left to us, so look after clearing it.
// After a shutdown each searcher wakes the next: a broadcast, one by one.
func (s *Set[T]) passOn() {
	s.lot.searching.Store(false)
	if s.anyReady() || s.mayLeave() {
		s.wake()
	}
}
