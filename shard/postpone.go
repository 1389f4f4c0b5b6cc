package shard

import "time"

// A Deadline is when a delay ends, by a reading of the clock.
type Deadline struct {
	at reading
	f  filing
}

// DeadlineIn returns when a delay ends that begins now. It reads the clock, and
// changes nothing.
func (s *Set[T]) DeadlineIn(delay time.Duration) Deadline {
	now, f := s.time.filing(Delay{Duration: delay})
	return Deadline{s.driver.taken(now), f}
}

// PlaceOf returns the place of an item. It calls the user's functions, and may
// read the clock, as an operation does at its start; it changes nothing.
func (s *Set[T]) PlaceOf(item T) Place {
	s.refreshForWork()
	return Place(s.shardOf(item, s.hash(item)).number)
}

// PostponeAt has an item that is in processing at a place wait until a deadline,
// and reports whether it is in processing. The run that comes then also serves the
// adds that came during the processing. If addsGoFirst is set and there were any,
// PostponeAt does nothing: the item comes again at its Done. So it does once a
// shutdown has begun, but for a Drain that takes retries in.
//
// The deadline is to have a delay of more than 0. No user code is called before the
// item waits; if the clock panics after that, it waits all the same.
func (s *Set[T]) PostponeAt(item T, at Place, d Deadline, addsGoFirst bool) (inProcessing bool) {
	sh, hash := &s.shards[at], uint32(s.hash(item))
	sh.mu.Lock()
	for s.TakesBack() && sh.sweeping() {
		sh.mu.Unlock() // what is filed now is not to be swept
		s.sweepSome(sh)
		sh.mu.Lock()
	}
	id, e := sh.inProcessing(item, hash)
	deadline := uint64(never)
	switch {
	case id == 0:
	case !s.TakesBack():
		sh.apply(id, e)
	case !addsGoFirst || e.phase() != dirty:
		deadline = sh.postpone(id, e, d)
		if s.measures != nil {
			s.countRetry(item, Delay{Retry: true})
		}
	}
	sh.mu.Unlock()
	if deadline != never && s.driver.mayMiss(deadline, d.at.now) {
		s.driver.poke()
	}
	return id != 0
}

// inProcessing looks an item up that is in processing, and seats its group. The
// id is 0 if the item is not.
func (sh *shard[T]) inProcessing(item T, hash uint32) (id uint32, e *entry[T]) {
	if id, _ = sh.find(item, hash); id == 0 {
		return 0, nil
	}
	if e = sh.table.at(id); e.phase() != processing && e.phase() != dirty {
		return 0, nil
	}
	if sh.groups != nil {
		sh.seatFor(id)
	}
	return id, e
}

// postpone files the timer of an item in processing, which is not dirty any more.
func (sh *shard[T]) postpone(id uint32, e *entry[T], d Deadline) (deadline uint64) {
	if e.step(canceled) == unmark && sh.set.ages {
		sh.unmark(id)
	}
	if sh.wheel == nil {
		sh.wheel = newWheel(d.at.now)
	}
	if d.f.deadline <= sh.wheel.Now() {
		// The clock has moved on since it was read, or it was set back. In either
		// case the driver finds that out, and the item is not early.
		sh.wheel.Rewind(d.at.now)
		sh.publishNext()
	}
	deadline = sh.waitAs(id, e, d.at, d.f)
	sh.noteFiled(d.at, d.f)
	return deadline
}
