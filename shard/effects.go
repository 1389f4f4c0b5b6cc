package shard

// effects are what remains to be done once the shard's lock is released.
type effects uint16

const (
	// The reports of a shard, once for each time that it owes one: see drain.go.
	quiet       effects = 1 << iota // nothing is ready or in processing
	noneDelayed                     // nothing is delayed
	empty                           // nothing is held, for a Drain; items in processing may be added
	emptyNow                        // nothing is held, for a WaitIdle; adds go on
	still                           // nothing is in processing or can be taken at once, for a Drain with a deadline
	files                           // the wait of a group was filed, and the driver's timer may be later
	took                            // the operation was not ignored
	wakes                           // there may be something for a parked consumer to take
	yields                          // the add was one of many in a row that were deduplicated
	tells                           // a change is kept for a watch
	reports     = quiet | noneDelayed | empty | emptyNow | still | files
)

// owed has the reports that a shard owes. Its layout leaves a byte for them.
type owed uint8

// after calls hooks last: they may panic. A misuse is reported after it.
func (s *Core) after(fx effects) {
	if fx&^took != 0 || s.notifies { // otherwise spare the call
		s.apply(fx)
	}
}

func (s *Core) apply(fx effects) {
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

// notify calls hooks. It may panic, so it comes last.
func (s *Core) notify() {
	s.reportAdds()
	s.limit.Notify()
}

// publish carries out effects without calling a hook.
func (s *Core) publish(fx effects) {
	if fx&wakes != 0 {
		s.wake()
	} else if fx&yields != 0 {
		s.yield()
	}
	if fx&reports != 0 {
		s.settle(fx)
	}
}
