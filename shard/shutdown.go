package shard

import "sync/atomic"

// closing tells how far a shutdown has come. It has two flags because adding and
// getting need different ends of it.
type closing struct {
	// begun is set first. Adds read it under their shard's lock and are dropped.
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
	s.close()
}

// ShutDownWithDrain is ShutDown, and then waits until no item is ready and none is
// in processing: somebody has to go on with Get and Done meanwhile. It must not be
// called by a worker who still owes a Done, or it waits for itself.
func (s *Set[T]) ShutDownWithDrain() {
	released := s.drained.released()
	s.close()
	s.drained.wait(released)
}

// ShuttingDown reports whether a shutdown has begun.
func (s *Set[T]) ShuttingDown() bool { return s.closing.begun.Load() }

func (s *Set[T]) close() {
	if !s.closing.begun.CompareAndSwap(false, true) {
		return
	}
	defer s.driver.stop() // last: it calls the clock, which may panic
	for i := range s.shards {
		s.closeShard(&s.shards[i])
	}
	s.closing.complete.Store(true)
	s.drained.settle()
	s.wake()
}

// closeShard drops what waits in a shard, a bounded number per hold of its lock, and
// counts the shard as owing to the drain if it has items under way.
func (s *Set[T]) closeShard(sh *shard[T]) {
	for more := true; more; {
		sh.mu.Lock()
		more = !sh.dropWaiting()
		if !more && !sh.quiet() {
			sh.owed = true
			s.drained.owe()
		}
		sh.mu.Unlock()
	}
}

// dropWaiting drops some of the waiting items and reports whether none is left.
func (sh *shard[T]) dropWaiting() (all bool) {
	sh.next.Store(never)
	return sh.wheel == nil || sh.wheel.Advance(never, stepsPerHold, sh.drop)
}

// drop is called by the wheel for an item that waits.
func (sh *shard[T]) drop(id uint32) {
	e := sh.table.at(id)
	e.waiting = false
	sh.rare.dropped++
	if e.phase == idle {
		sh.forget(id, sh.table.locate(id, uint32(sh.set.hash(e.item))))
	}
}
