package shard

// What a consumer can do with an item in processing beside Done: have it come again.

// Again asks for one more run of an item whose processing goes on, and reports whether
// it does. Unlike an Add it does so also after a shutdown began: the item's Done is
// owed, so drains wait for it, and somebody is there to take what that makes ready.
// It calls no user code.
func (s *Set[T]) Again(h Handle) (inProcessing bool) {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.claimed(h)
	if e != nil {
		sh.add(h.id, e, request{})
	}
	return e != nil
}

// A Comeback is what came of an item that was to come again.
type Comeback uint8

const (
	// TooLate: the processing had ended. Nothing has changed.
	TooLate Comeback = iota
	// TakenBack: the item comes again.
	TakenBack
	// Refused: a shutdown has begun, and the item does not come again. It is counted as
	// dropped, and its processing goes on.
	Refused
)

// Retry ends a processing, and has the item come again after a delay, or at once if
// there is none. It is an AddAfter and [Set.End] in one: once a shutdown has begun, only
// a Drain that takes retries in lets it. If the item is Refused, its processing goes on,
// so that the caller can tell of that before it ends.
//
// It calls no user code but the clock. If that panics, the item comes again
// nevertheless, at once.
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
		deadline = s.deadline(d)
	}
	read = true
	return s.retryAt(h, deadline, d.Priority)
}

// Release ends a processing and makes the item ready, with a priority at least: last in
// its shard. It is [Set.Again] and [Set.End] in one, and works after a shutdown, too.
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

// retryAt is Retry by a clock that was read.
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
	s.limit.Notify()
	return came
}

// addAgain adds an item in processing, after a delay if there is one: then it returns
// the deadline, and otherwise never.
func (sh *shard[T]) addAgain(id uint32, e *entry[T], d Deadline, priority int) (deadline uint64) {
	if d.f.delayed {
		return sh.fileAgain(id, e, d)
	}
	sh.add(id, e, request{priority: priority, endsDelay: sh.set.cancelDelayOnAdd})
	return never
}
