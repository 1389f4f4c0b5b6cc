package shard

import "github.com/shardq/shardq/internal/shared"

// How the queue knows since when an item is in its state, if it is asked to (Config.Ages):
// each item gets a stamp when it becomes ready and when it is handed out, in a column of
// its own (times.go); and the items in processing are linked in the order in which they were handed
// out, so that the oldest of a shard is found at once.
//
// A reading of the clock for each stamp would take half as long as the whole cycle of an
// item. So the stamps come from a pulse: the first operation of a tick reads the clock,
// and the others of that tick find the reading. When the tick is over, the driver says so,
// for which it wakes once; nobody wakes for it while nothing happens. With metrics there are
// more readings: see crowd.

// A pulse is the present, for those who cannot read the clock each time.
type pulse struct {
	// now is the last reading in nanoseconds: the start of its tick, or, with metrics,
	// the moment itself.
	now shared.Uint64[shared.Clock]
	// live is the tick of the reading while that is the present, as far as the driver
	// knows, and 0 once it has passed.
	live  shared.Uint64[shared.Clock]
	crowd crowd
	_     [64 - 16 - 32]byte
}

// refresh sees to it that the pulse is of the present. It is to be called at the start of
// an operation that leads to stamps. It may read the clock, and set the clock's timer:
// hold no lock.
func (s *Set[T]) refresh() {
	if s.ages && s.pulse.live.Load() == 0 {
		s.beat()
	}
}

// refreshForWork is refresh before a Get or a Done. Where many adds come for a few of those, the adds
// share readings, and each Get and Done reads for itself: otherwise it would find the reading of an add
// right behind the Get or Done before it, and the time that has passed since would go to what comes after.
func (s *Set[T]) refreshForWork() {
	if s.ages && (s.pulse.live.Load() == 0 || s.pulse.crowd.interval.Load() == 1) {
		s.beat()
	}
}

// beat reads the clock for the pulse. Once the driver is gone, each reading is for one
// operation: nobody would say that it has passed.
func (s *Set[T]) beat() {
	now := s.time.nanoseconds()
	tick := now / s.time.tick
	if s.measures == nil {
		now = tick * s.time.tick
	}
	s.pulse.now.Store(now)
	if s.measures != nil && s.pulse.crowd.read(tick) == 0 {
		return // the next operation reads for itself
	}
	s.pulse.live.Store(tick)
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

// pass has the next operation read the clock.
func (p *pulse) pass() {
	if p.live.Load() != 0 { // for nobody reads the clock of whom the others are to find the reading
		p.live.Store(0)
	}
}

// read is called by the driver with its reading, before it makes items ready.
func (p *pulse) read(now, tick uint64) {
	p.now.Store(now)
	if live := p.live.Load(); live != 0 && live != tick { // or the clock was set back
		p.live.CompareAndSwap(live, 0) // unless somebody has read the clock since
	}
}
