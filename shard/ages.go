package shard

import "sync/atomic"

// How the queue knows since when an item is in its state, if it is asked to (Config.Ages):
// each item gets a stamp when it becomes ready and when it is handed out, in a column of
// its own; and the items in processing are linked in the order in which they were handed
// out, so that the oldest of a shard is found at once.
//
// A reading of the clock for each stamp would take half as long as the whole cycle of an
// item. So the stamps come from a pulse: the first operation of a tick reads the clock,
// and the others of that tick find the reading. When the tick is over, the driver says so,
// for which it wakes once; nobody wakes for it while nothing happens.

// A pulse is the present to the tick, for those who cannot read the clock each time.
type pulse struct {
	// tick is the last reading.
	tick atomic.Uint64
	// live is the same while it is the present, as far as the driver knows, and 0
	// once it has passed.
	live atomic.Uint64
	_    [64 - 16]byte
}

// refresh sees to it that the pulse is of the present. It is to be called at the start of
// an operation that leads to stamps. It may read the clock, and set the clock's timer:
// hold no lock.
func (s *Set[T]) refresh() {
	if s.ages && s.pulse.live.Load() == 0 {
		s.beat()
	}
}

// beat reads the clock for the pulse. Once the driver is gone, each reading is for one
// operation: nobody would say that it has passed.
func (s *Set[T]) beat() {
	now := s.time.now()
	s.pulse.tick.Store(now)
	s.pulse.live.Store(now)
	if s.closing.begun.Load() { // look after storing: a shutdown stores after setting begun
		s.pulse.live.Store(0)
		return
	}
	if s.pulse.ends() < s.driver.armed.Load() {
		s.driver.poke()
	}
}

// ends returns when the driver is to say that the present has passed.
func (p *pulse) ends() uint64 {
	if live := p.live.Load(); live != 0 {
		return live + 1
	}
	return never
}

// read is called by the driver when the clock says now, before it makes items ready.
func (p *pulse) read(now uint64) {
	p.tick.Store(now)
	if live := p.live.Load(); live != 0 && live != now { // or the clock was set back
		p.live.CompareAndSwap(live, 0) // unless somebody has read the clock since
	}
}

// stamp notes that the item's state is new.
func (sh *shard[T]) stamp(id uint32) {
	if sh.set.ages {
		*sh.table.since.At(id) = sh.set.pulse.tick.Load()
	}
}

// begin notes that an entry was handed out, if the queue keeps ages.
func (sh *shard[T]) begin(id uint32, e *entry[T]) {
	sh.stamp(id)
	sh.table.join(&sh.table.inFlight, id, e)
}

// end notes that an entry's processing is over, if the queue keeps ages.
func (sh *shard[T]) end(id uint32, e *entry[T]) {
	t := sh.table
	if id == t.told {
		if t.told = 0; id != t.inFlight.head {
			t.told = e.previous()
		}
	}
	t.part(&t.inFlight, id, e)
}
