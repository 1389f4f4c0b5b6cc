package shard

// Effects are what an operation on a shard leaves to do once the shard's lock is
// free. Each operation collects them under the lock, and passes them to after.
type effects struct {
	// did is what became of the item.
	did effect
	// wakes: there may be something for a parked consumer to take.
	wakes bool
	// yields: the add was one of many in a row that were deduplicated.
	yields bool
	// due has the reports that the shard owed, and has come to.
	due reports
}

// and returns the effects of two operations on one shard. What became of the items is not
// part of it.
func (fx effects) and(other effects) effects {
	return effects{wakes: fx.wakes || other.wakes, yields: fx.yields || other.yields, due: fx.due | other.due}
}

// after makes the effects of an operation come true, with no lock held. It calls
// OnWatermark last, because the hook may panic. A misuse is reported after that.
func (s *Set[T]) after(fx effects) {
	s.publish(fx)
	if s.room != nil {
		s.room.Look()
	}
}

// publish is after without the hook: it calls no user code.
func (s *Set[T]) publish(fx effects) {
	if fx.wakes {
		s.wake()
	} else if fx.yields {
		s.yield()
	}
	if fx.due != 0 {
		s.settle(fx.due)
	}
}
