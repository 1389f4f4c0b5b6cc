package shard

import "time"

// A Deadline is when a delay expires, by a reading of the clock.
type Deadline struct {
	at reading
	f  filing
}

// DeadlineIn returns when a delay that begins now expires. It reads the clock,
// and changes nothing.
func (s *Set[T]) DeadlineIn(delay time.Duration) Deadline {
	return s.DeadlineOf(Delay{Duration: delay})
}

// DeadlineOf is [Set.DeadlineIn] of a delay with a priority or a policy.
func (s *Set[T]) DeadlineOf(d Delay) Deadline {
	at := s.driver.taken(s.time.nanoseconds())
	return Deadline{at, s.time.filing(d, at)}
}

// Postpone delays an item in processing until a deadline, and reports whether
// the processing goes on. The run after the delay also serves the adds made
// during the processing, with the highest of the priorities. With KeepEarliest
// such adds go first: the item is not delayed then, and becomes ready at its
// Done. Once a shutdown has begun, it becomes ready at its Done as well, unless
// a Drain accepts retries.
//
// If the item was delayed during the processing, the policy chooses between the
// two deadlines. Unless it is KeepEarliest, a MaxWait of that delay does not
// count.
//
// The deadline must have a positive delay. Postpone calls no user code before
// the item is delayed. If the clock panics after that, the item stays delayed.
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

// fileAgain files the timer of an item in processing, and counts the retry.
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
