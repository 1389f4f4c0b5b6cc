package shard

// refresh makes the coarse clock current before an operation that stamps. It
// may read the clock and set its timer, so no lock may be held.
func (s *Core) refresh() {
	if s.config.Ages && s.coarse.Live.Load() == 0 {
		s.readClock()
	}
}

// refreshForWork is refresh before a Get or a Done. While these are few, each
// reads the clock, or the time since an earlier add would count as work.
func (s *Core) refreshForWork() {
	if s.config.Ages && s.coarse.NeedsReading() {
		s.readClock()
	}
}

// refreshOr is refreshForWork before the end of a processing. If the clock panics,
// it calls end.
func (s *Core) refreshOr(end func()) {
	if s.config.Ages {
		s.refreshForWorkOr(end) // apart, so that refreshOr is inlined
	}
}

func (s *Core) refreshForWorkOr(end func()) { readOr(s.refreshForWork, end) }

// readOr calls read and, if the user's clock panics in it, instead.
func readOr(read, instead func()) {
	panics := true
	defer func() {
		if panics {
			instead()
		}
	}()
	read()
	panics = false
}

// readClock makes a reading for all operations until the driver ends it. If no
// driver will end the reading, it is for one operation only.
func (s *Core) readClock() {
	tick := s.storeReading()
	if s.measures != nil && s.coarse.Sampler.Read(tick) == 0 {
		return // the next operation reads for itself
	}
	s.coarse.Live.Store(tick)
	if s.closing.begun.Load() { // load after storing: a shutdown stores after setting begun
		s.coarse.Live.Store(0)
		return
	}
	if s.coarse.Deadline() < s.driver.armed.Load() {
		s.driver.poke()
	}
}

// storeReading reads again if another reading was stored meanwhile, which this
// would set back: a list in order would have younger items before older ones.
func (s *Core) storeReading() (tick uint64) {
	for {
		before := s.coarse.Now.Load()
		now := s.time.Nanoseconds()
		tick = now / s.time.Tick
		if s.measures == nil {
			now = tick * s.time.Tick
		}
		if s.coarse.Now.CompareAndSwap(before, now) {
			return tick
		}
	}
}
