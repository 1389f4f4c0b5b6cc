package shard

import "sync/atomic"

// closing tells how far a shutdown has come. It has several flags because adding,
// waiting and getting need different ends of it.
type closing struct {
	// refusing is set first. Adds read it under their shard's lock and are dropped.
	refusing atomic.Bool
	// retries says whether adds of items in processing are taken in all the same. It
	// is set before refusing.
	retries Retries
	// begun is set next, unless a Drain lets what waits come: what waits is dropped
	// from now on, and the driver retires.
	begun atomic.Bool
	// complete is set after every shard was locked once since begun was set. All
	// adds that were not dropped have then landed, so that a consumer who reads
	// complete, and then finds nothing ready, may leave for good: with one flag,
	// an Add in flight could make an item ready after the last consumer left.
	complete atomic.Bool
}

// ShutDown drops waiting items and later adds, and lets Get return true once
// nothing is ready. It does not wait for workers. It ends the wait of every
// ShutDownWithDrain under way. It may be called at any time, by anyone, again.
func (s *Set[T]) ShutDown() {
	defer s.drained.release()
	s.close(nil)
}

// ShutDownWithDrain is ShutDown, and then waits until no item is ready and none is
// in processing: somebody has to go on with Get and Done meanwhile. It must not be
// called by a worker who still owes a Done, or it waits for itself.
func (s *Set[T]) ShutDownWithDrain() {
	released := s.drained.released()
	s.close(nil)
	s.drained.wait(nil, released)
}

// ShuttingDown reports whether a shutdown has begun.
func (s *Set[T]) ShuttingDown() bool { return s.closing.refusing.Load() }

// refuse drops adds from now on, but for retries, if they are taken in, and tells
// those who wait for room.
func (s *Set[T]) refuse(retries bool) {
	s.noteEndOfUpdates()
	s.closing.retries.Decide(retries)
	s.closing.refusing.Store(true)
	s.limit.Close()
}

// close does what every end of the queue does. It reports the items that waited and were
// dropped, if told to whom.
func (s *Set[T]) close(dropped func(items []T)) {
	s.refuse(false)
	if !s.closing.begun.CompareAndSwap(false, true) {
		return
	}
	s.watchdog.close()
	s.pulse.live.Store(0)
	defer s.driver.stop() // last: it calls the clock, which may panic
	for sh := range s.made() {
		s.closeShard(sh, dropped)
	}
	s.closing.complete.Store(true)
	s.drained.settle()
	s.wake()
	s.limit.Notify()
}

// closeShard drops what waits in a shard, a bounded number per hold of its lock, and
// counts the shard as owing to the drain if it has items under way. Drains that wait
// for what may be dropped here need not any more.
func (s *Set[T]) closeShard(sh *shard[T], dropped func(items []T)) {
	for more := true; more; {
		var items []T
		sh.mu.Lock()
		keep := dropped
		if keep == nil && sh.owes&(noneWaits|empty) != 0 {
			keep = s.abandoned.add
		}
		more = !sh.dropWaiting(func(item T) {
			if keep != nil {
				items = append(items, item)
			}
		})
		if !more && !sh.quiet() {
			sh.owe(quiet, &s.drained)
		}
		due := sh.reportsDue()
		if !more {
			due |= sh.owes & empty // nothing can come again: it is up to drained
			sh.owes &^= empty
		}
		sh.mu.Unlock()
		if len(items) > 0 {
			keep(items) // before the report
		}
		s.settle(due)
	}
}

// dropWaiting drops some of the waiting items and reports whether none is left.
func (sh *shard[T]) dropWaiting(dropped func(item T)) (all bool) {
	sh.next.Store(never)
	return sh.wheel == nil || sh.wheel.Advance(never, stepsPerHold, func(id uint32) {
		dropped(sh.table.at(id).item)
		sh.drop(id)
	})
}

// drop forgets that an item waits, whose timer is filed no more.
func (sh *shard[T]) drop(id uint32) {
	e := sh.table.at(id)
	sh.waited(id, e)
	sh.rare.dropped++
	if e.phase() == idle {
		sh.forget(id, e, position{})
	}
}
