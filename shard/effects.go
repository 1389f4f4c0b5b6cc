package shard

// effects are the results of an operation on a shard, and what remains to be
// done once the shard's lock is released. Each operation collects them under
// the lock, and passes them to after.
type effects uint16

const (
	// took: the operation was not ignored.
	took effects = 1 << iota
	// wakes: there may be something for a parked consumer to take.
	wakes
	// yields: the add was one of many in a row that were deduplicated.
	yields

	// The reports of a shard, once for each time that it owes one: see
	// drain.go.

	// quiet: nothing in the shard is ready or in processing.
	quiet
	// noneDelayed: nothing in the shard is delayed.
	noneDelayed
	// empty: the shard holds nothing. It stays so while only items in
	// processing are added, as during a Drain that accepts retries.
	empty
	// emptyNow: the shard holds nothing, for a WaitIdle. Adds go on.
	emptyNow

	// files: the wait of a group was filed, and the driver's timer may be
	// later.
	files
	// tells: a change is kept for a watch.
	tells

	reports = quiet | noneDelayed | empty | emptyNow | files
)

// owed has those reports of a shard that it owes to drains. These effects fit
// into a byte, which the layout of a shard needs.
type owed uint8

// after carries out the effects of an operation. It calls OnWatermark last,
// because the hook may panic. The caller reports a misuse after that.
func (s *Set[T]) after(fx effects) {
	if fx&^took != 0 || s.notifies { // otherwise spare the call
		s.apply(fx)
	}
}

func (s *Set[T]) apply(fx effects) {
	if fx&wakes != 0 {
		s.wake()
	}
	if fx&(yields|reports) != 0 {
		s.publish(fx &^ wakes)
	}
	if fx&tells != 0 || s.notifies {
		s.notify()
	}
}

// notify tells watches, and calls OnAdd and OnWatermark, for what has happened.
// It may panic, so it comes last.
func (s *Set[T]) notify() {
	s.reportAdds()
	s.limit.Notify()
}

// publish carries out effects without calling a hook.
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
