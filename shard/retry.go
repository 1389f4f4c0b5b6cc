package shard

// Again asks for one more run of an item in processing, ends a delay of it, and
// reports whether the processing goes on. It works after a shutdown began as
// well: drains wait for the Done that is owed, and the consumer that owes it
// can take the item. It calls no user code.
func (s *Set[T]) Again(h Handle) (inProcessing bool) { return s.AgainAt(h, 0) }

// AgainAt is [Set.Again] with at least the given priority and that of a delay
// that it ends.
func (s *Set[T]) AgainAt(h Handle, priority int) (inProcessing bool) {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.claimed(h)
	if e != nil {
		sh.add(h.id, e, request{priority: priority, cancelsDelay: true})
	}
	return e != nil
}

// A Comeback is the result of [Set.Retry].
type Comeback uint8

const (
	TooLate   Comeback = iota // the processing had ended, and nothing has changed
	TakenBack                 // the item was added again
	// Refused: a shutdown has begun. The item counts as dropped, and its
	// processing goes on.
	Refused
)

// Retry ends a processing and adds the item again, after a delay if there is
// one. Once a shutdown has begun, it does so only during a Drain that accepts
// retries. Otherwise the processing goes on, so that the caller can act before
// it ends it. If the clock panics, the item becomes ready at once.
func (s *Set[T]) Retry(h Handle, d Delay) (came Comeback) {
	read := false
	defer func() {
		if !read {
			s.releaseNow(h, d.Priority)
		}
	}()
	s.refreshForWork()
	deadline := Deadline{}
	if d.Duration > 0 {
		deadline = s.DeadlineOf(d)
	}
	read = true
	return s.retryAt(h, deadline, d.Priority)
}

// Release ends a processing and makes the item ready again, last in its shard
// and with at least the given priority, also after a shutdown. It reports
// whether the processing was still going on.
func (s *Set[T]) Release(h Handle, priority int) (ended bool) {
	defer func() { ended = s.releaseNow(h, priority) }() // also if the clock panics
	s.refreshForWork()
	return ended
}

func (s *Set[T]) releaseNow(h Handle, priority int) (ended bool) {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	fx := effects(0)
	if e := sh.claimed(h); e != nil {
		sh.add(h.id, e, request{priority: priority})
		fx = sh.finish(h.id, e, position{})
	}
	sh.mu.Unlock()
	s.after(fx)
	return fx&took != 0
}

func (s *Set[T]) retryAt(h Handle, d Deadline, priority int) (came Comeback) {
	sh := s.lockSwept(h)
	fx, filed := effects(0), uint64(never)
	if e := sh.claimed(h); e != nil {
		came = Refused
		if s.TakesBack() {
			came, filed = TakenBack, sh.addAgain(h.id, e, d, priority)
			fx = sh.finish(h.id, e, position{})
		} else {
			sh.rare.dropped++
		}
	}
	sh.mu.Unlock()
	if came == TakenBack && s.measures != nil {
		s.countRetry()
	}
	s.publish(fx)
	s.watchDeadline(filed, d) // these two may panic
	s.notify()
	return came
}

// addAgain returns the deadline of the item's delay, or never if there is none.
func (sh *shard[T]) addAgain(id uint32, e *entry[T], d Deadline, priority int) (deadline uint64) {
	if d.f.delayed {
		return sh.fileAgain(id, e, d)
	}
	sh.add(id, e, request{priority: priority, cancelsDelay: sh.set.rules.CancelDelayOnAdd})
	return never
}
