package shard

// A Deadline is when a delay expires, by a reading of the clock.
type Deadline struct {
	at reading
	f  filing
}

// DeadlineOf reads the clock, and returns when a delay expires that begins now.
func (s *Set[T]) DeadlineOf(d Delay) Deadline {
	at := s.driver.taken(s.time.nanoseconds())
	return Deadline{at, s.time.filing(d, at)}
}

// Postpone delays an item in processing until a deadline, and reports whether
// the processing goes on. The run after the delay also serves the adds made
// during the processing. With KeepEarliest such adds go first: the item becomes
// ready at its Done. So it does once a shutdown has begun, unless a Drain
// accepts retries. If the item was delayed during the processing, the policy
// chooses between the two deadlines.
//
// The deadline must have a positive delay. Postpone calls no user code before
// the item is delayed.
func (s *Set[T]) Postpone(h Handle, d Deadline, policy DelayPolicy) (inProcessing bool) {
	addsGoFirst := policy == KeepEarliest
	sh := s.lockSwept(h)
	e := sh.claimed(h)
	deadline := uint64(never)
	switch {
	case e == nil:
	case !s.TakesBack():
		sh.add(h.id, e, request{priority: d.f.priority})
	case addsGoFirst && e.phase() == dirty:
		sh.raisePriority(h.id, e, d.f.priority)
	default:
		if e.step(canceled) == unmark {
			d.f.priority = max(d.f.priority, sh.table.requested.run(h.id))
			sh.leftLine(h.id, e)
			sh.table.times.onCancel(h.id, unmark)
		}
		if !addsGoFirst && e.delayed() {
			d = sh.withDelay(h.id, e, d, policy)
		}
		deadline = sh.fileAgain(h.id, e, d)
	}
	sh.mu.Unlock()
	s.watchDeadline(deadline, d)
	if deadline != never && s.measures != nil {
		s.countRetry()
	}
	s.reportAdds()
	return e != nil
}

// withDelay cancels the delay of an item. It returns d or the deadline of that
// delay, as the policy says, with the higher of the priorities.
func (sh *shard[T]) withDelay(id uint32, e *entry[T], d Deadline, policy DelayPolicy) Deadline {
	filed, _ := sh.wheel.Deadline(id)
	d.f.deadline = policy.choose(filed, d.f.deadline)
	d.f.priority = max(d.f.priority, sh.cancelDelay(id, e))
	return d
}

// lockSwept locks the shard of a Handle, after it has finished a sweep that is
// under way there. A sweep must not take what the caller files.
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

// watchDeadline tells the driver about a deadline that was filed, unless it is
// never.
func (s *Set[T]) watchDeadline(deadline uint64, d Deadline) {
	if deadline != never {
		s.driver.filed(deadline, d.at)
	}
}

func (sh *shard[T]) fileAgain(id uint32, e *entry[T], d Deadline) (deadline uint64) {
	if sh.wheel == nil {
		sh.wheel = newWheel(d.at.now)
	}
	if d.f.deadline <= sh.wheel.Now() {
		// The clock has moved on since it was read, or it was set back. In
		// either case the driver finds that out, and the item does not become
		// ready early.
		sh.wheel.Rewind(d.at.now)
		sh.publishNext()
	}
	deadline = sh.fileTimerOf(id, e, d.at, d.f)
	sh.noteFiled(d.at, d.f)
	return deadline
}
