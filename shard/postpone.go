package shard

import "time"

// A Deadline is when a delay ends, by a reading of the clock.
type Deadline struct {
	at reading
	f  filing
}

// DeadlineIn returns when a delay ends that begins now. It reads the clock, and
// changes nothing.
func (s *Set[T]) DeadlineIn(delay time.Duration) Deadline { return s.deadline(Delay{Duration: delay}) }

func (s *Set[T]) deadline(d Delay) Deadline {
	at := s.driver.taken(s.time.nanoseconds())
	return Deadline{at, s.time.filing(d, at)}
}

// Postpone has an item whose processing goes on wait until a deadline, and reports
// whether the processing goes on. The run that comes then also serves the
// adds that came during the processing. If addsGoFirst is set and there were any,
// Postpone does nothing: the item comes again at its Done. So it does once a
// shutdown has begun, but for a Drain that takes retries in.
//
// The deadline is to have a delay of more than 0. No user code is called before the
// item waits; if the clock panics after that, it waits all the same.
func (s *Set[T]) Postpone(h Handle, d Deadline, addsGoFirst bool) (inProcessing bool) {
	sh := s.lockSwept(h)
	e := sh.claimed(h)
	deadline := uint64(never)
	switch {
	case e == nil:
	case !s.TakesBack():
		sh.add(h.id, e, request{})
	case !addsGoFirst || e.phase() != dirty:
		if e.step(canceled) == unmark {
			sh.table.times.onCancel(h.id, unmark)
		}
		deadline = sh.fileAgain(h.id, e, d)
	}
	sh.mu.Unlock()
	s.watchDeadline(deadline, d)
	if deadline != never && s.measures != nil {
		s.countRetry()
	}
	return e != nil
}

// lockSwept locks the shard of a Handle, when a sweep under way there is over: what is
// filed after that is not to be swept.
func (s *Set[T]) lockSwept(h Handle) *shard[T] {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	for s.TakesBack() && sh.sweeping() {
		sh.mu.Unlock()
		s.sweepSome(sh)
		sh.mu.Lock()
	}
	return sh
}

// watchDeadline has the driver come for a deadline that was filed; never is none.
func (s *Set[T]) watchDeadline(deadline uint64, d Deadline) {
	if deadline != never {
		s.driver.filed(deadline, d.at)
	}
}

// fileAgain files the timer of an item in processing, and counts the retry.
func (sh *shard[T]) fileAgain(id uint32, e *entry[T], d Deadline) (deadline uint64) {
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
