package shard

import "sync/atomic"

// A coarseClock is a reading of the clock that operations share, to stamp when
// items come into their states: a reading for each would take half as long as
// an item's whole cycle. The first operation of a tick reads, and the driver
// ends the reading with the tick. Metrics need more: see sampler.
type coarseClock struct {
	now        atomic.Uint64 // the start of the tick, or, with metrics, the moment itself
	live       atomic.Uint64 // the tick of the reading while the driver holds it current, or 0
	sampler    sampler
	keepsWaits atomic.Bool // see Set.KeepWaits
	_          [64 - 16 - 32 - 4]byte
}

// refresh makes the coarse clock current before an operation that stamps. It
// may read the clock and set its timer, so no lock may be held.
func (s *Core) refresh() {
	if s.config.Ages && s.coarse.live.Load() == 0 {
		s.readClock()
	}
}

// refreshForWork is refresh before a Get or a Done. If these are few, each
// reads, or the time since an earlier add would count for what follows.
func (s *Core) refreshForWork() {
	if s.config.Ages && (s.coarse.live.Load() == 0 || s.coarse.sampler.interval.Load() == 1) {
		s.readClock()
	}
}

// readClock makes a reading, for one operation only if no driver ends it.
func (s *Core) readClock() {
	tick := s.storeReading()
	if s.measures != nil && s.coarse.sampler.read(tick) == 0 {
		return // the next operation reads for itself
	}
	s.coarse.live.Store(tick)
	if s.closing.begun.Load() { // load after storing: a shutdown stores after setting begun
		s.coarse.live.Store(0)
		return
	}
	if s.coarse.deadline() < s.driver.armed.Load() {
		s.driver.poke()
	}
}

// storeReading reads again if another reading was stored meanwhile, which this
// would set back: a list in order would have younger items before older ones.
func (s *Core) storeReading() (tick uint64) {
	for {
		before := s.coarse.now.Load()
		now := s.time.nanoseconds()
		tick = now / s.time.tick
		if s.measures == nil {
			now = tick * s.time.tick
		}
		if s.coarse.now.CompareAndSwap(before, now) {
			return tick
		}
	}
}

func (c *coarseClock) deadline() uint64 {
	if live := c.live.Load(); live != 0 {
		return live + 1
	}
	return never
}

func (c *coarseClock) invalidate() {
	if c.live.Load() != 0 { // spare the store if each operation reads the clock anyway
		c.live.Store(0)
	}
}

func (c *coarseClock) update(before, now, tick uint64) {
	c.now.CompareAndSwap(before, now)
	if live := c.live.Load(); live != 0 && live != tick { // or the clock was set back
		c.live.CompareAndSwap(live, 0) // unless an operation has read the clock since
	}
}
