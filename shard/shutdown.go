package shard

import (
	"context"
	"sync/atomic"

	"github.com/shardq/shardq/shard/internal/items"
)

// closing has the steps of a shutdown, on which adds, delays and Gets depend.
type closing struct {
	refusing atomic.Bool // set first; adds read it under their shard's lock, and drop their items
	ending   context.Context
	end      context.CancelFunc // ends ending, once refusing is set
	retries  Retries            // whether adds of items in processing are accepted; decided before
	// begun is set next, unless a Drain awaits the delayed items. From then on,
	// these are dropped, and the driver stops.
	begun      atomic.Bool
	leaving    atomic.Bool // set by ShutDown, but not by drains: see mayLeave
	discarding atomic.Bool // ShutDown drops what is ready, and no Done makes its item ready
	// complete is set after every shard was locked once since begun was set, so
	// that all adds that were not dropped have finished. A consumer that reads
	// it, and then finds nothing ready, may leave. With one flag, an Add in
	// flight could make an item ready after the last consumer left.
	complete atomic.Bool
}

// ShutDown drops delayed items and later adds.
func (s *Core) ShutDown() {
	defer s.drains.drained.release()
	s.closing.leaving.Store(true)
	s.close(nil)
	s.wake() // a consumer may wait for what is paused
	if s.config.Rules.DiscardOnShutDown {
		s.discardReady()
	}
}

// ShutDownWithDrain also waits until no item is ready or in processing.
func (s *Core) ShutDownWithDrain() {
	released := s.drains.drained.released()
	s.close(nil)
	_ = s.awaitDrain(context.Background(), &s.drains.drained, released)
}

// ShuttingDown reports whether a shutdown has begun.
func (s *Core) ShuttingDown() bool { return s.closing.refusing.Load() }

// Ending returns a context that ends when a shutdown begins.
func (s *Core) Ending() context.Context { return s.closing.ending }

func (s *Core) refuse(retries bool) {
	s.noteEndOfUpdates()
	s.closing.retries.Decide(retries)
	s.closing.refusing.Store(true)
	s.closing.end()
	s.limit.Close()
}

func (s *Core) close(dropped dropping) {
	s.refuse(false)
	if !s.closing.begun.CompareAndSwap(false, true) {
		return
	}
	s.above.closeStuck()
	s.coarse.Live.Store(0)
	defer s.driver.stop() // last: it calls the clock, which may panic
	for sh := range s.shards.made() {
		sh.close(dropped)
	}
	s.closing.complete.Store(true)
	s.drains.drained.settle()
	s.wake()
	s.notify() // also of the delays that a Drain has ended
}

// closeShard drops delayed items, a bounded number per hold of the lock. The
// shard owes the drain a report if it has items ready or in processing.
func (sh *shard) close(dropped dropping) {
	for more := true; more; {
		sh.lock()
		to := dropped
		if to == nil && sh.owes&owed(noneDelayed|empty) != 0 {
			to = sh.set.above.abandoning()
		}
		more = !sh.dropDelayed(func(e *items.Entry) {
			if to != nil {
				to.drop(e)
			}
		})
		if !more && !sh.quiet() {
			sh.owe(quiet, &sh.set.drains.drained)
		}
		due := sh.reportsDue()
		if !more {
			due |= effects(sh.owes) & empty // nothing can be added again: drained waits for the rest
			sh.owes &^= owed(empty)
		}
		sh.unlock()
		if to != nil {
			to.keep() // before the report
		}
		sh.set.settle(due)
	}
}

func (sh *shard) dropDelayed(dropped func(e *items.Entry)) (all bool) {
	sh.next.Store(never)
	sh.dropWindows()
	return sh.wheel == nil || sh.wheel.Advance(never, stepsPerHold, func(id uint32) {
		e := sh.table.At(id)
		if sh.wheel.serves(id) { // adds that were taken in before
			sh.add(id, e, request{priority: sh.clearDelay(id, e)})
			return
		}
		dropped(e)
		sh.drop(id)
	})
}

// drop ends a delay whose timer is no longer filed.
func (sh *shard) drop(id uint32) {
	e := sh.table.At(id)
	sh.clearDelay(id, e)
	sh.rare.dropped++
	if e.Phase() == items.Idle {
		sh.forget(id, e, items.Position{})
	}
}
