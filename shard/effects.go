package shard

// Effects are what came of an operation on a shard, and what it leaves to do once the
// shard's lock is free. Each operation collects them under the lock, and passes them to
// after.
type effects uint8

const (
	// took: the operation was not ignored.
	took effects = 1 << iota
	// wakes: there may be something for a parked consumer to take.
	wakes
	// yields: the add was one of many in a row that were deduplicated.
	yields

	// What a shard reports, once for each time that it owes it: see drain.go.

	// quiet: nothing in the shard is ready or in processing.
	quiet
	// noneWaits: nothing in the shard waits.
	noneWaits
	// empty: the shard holds nothing. While only items in processing are added, as
	// during a Drain that takes retries in, it stays so.
	empty
	// emptyNow is the same for a WaitIdle: adds go on.
	emptyNow

	reports = quiet | noneWaits | empty | emptyNow
)

// after makes the effects of an operation come true, with no lock held. It calls
// OnWatermark last, because the hook may panic. A misuse is reported after that.
func (s *Set[T]) after(fx effects) {
	if fx&^took != 0 || s.limit != nil { // and otherwise the call is not worth it
		s.comeTrue(fx)
	}
}

func (s *Set[T]) comeTrue(fx effects) {
	if fx&wakes != 0 {
		s.wake()
	}
	if fx&(yields|reports) != 0 {
		s.publish(fx &^ wakes)
	}
	s.limit.Notify()
}

// publish is after without the hook: it calls no user code.
func (s *Set[T]) publish(fx effects) {
	if fx&wakes != 0 {
		s.wake()
	} else if fx&yields != 0 {
		s.yield()
	}
	if fx&reports != 0 {
		s.settle(fx)
	}
}
