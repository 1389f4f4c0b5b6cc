package shard

import (
	"context"

	"github.com/shardq/shardq/shard/internal/items"
)

// ShutDown drops delayed items and later adds.
func (s *Core) ShutDown() {
	defer s.drains.drained.release()
	s.closing.leaving.Store(true)
	s.closing.discarding.Store(s.config.Rules.DiscardOnShutDown)
	s.close(nil)
	s.wake() // a consumer may wait for what is paused
	if s.closing.discarding.Load() {
		s.discardReady()
	}
}

// ShutDownWithDrain also waits until no item is ready or in processing.
func (s *Core) ShutDownWithDrain() {
	released := s.drains.drained.released()
	s.close(nil)
	if s.config.Rules.DrainProcessingOnly {
		s.awaitProcessing(released)
		return
	}
	_ = s.awaitDrain(context.Background(), &s.drains.drained, released)
}

// awaitProcessing waits until nothing is in processing. Ready items may be handed
// out meanwhile, so no report of a shard is final.
func (s *Core) awaitProcessing(released <-chan struct{}) {
	for {
		changed := s.drains.stilled.released() // before the check, so that no later change is missed
		if !s.isProcessing() {
			return
		}
		select {
		case <-changed:
		case <-released:
			return
		}
	}
}

func (s *Core) isProcessing() bool {
	for sh := range s.shards.made() {
		if sh.isProcessing() {
			return true
		}
	}
	return false
}

func (sh *shard) isProcessing() bool {
	sh.lock()
	defer sh.unlock()
	sh.owes |= owed(still)
	return sh.line.Processing() > 0
}

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
	if s.config.KeepBackoff && s.config.Ages { // items become ready whose backoffs serve adds
		readOr(func() { s.storeReading() }, func() { s.closeShards(dropped) })
	}
	s.closeShards(dropped)
}

func (s *Core) closeShards(dropped dropping) {
	closeOutbox(&s.stuck)
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

// close drops delayed items, a bounded number per hold of the lock. The
// shard owes the drain a report if it has items ready or in processing.
func (sh *shard) close(dropped dropping) {
	for more := true; more; {
		sh.lock()
		to := dropped
		if to == nil && sh.owes&owed(noneDelayed|empty) != 0 {
			to = sh.set.above.abandoning()
		}
		more = !sh.dropDelayed(to)
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

// dropDelayed drops some of the delayed items, and gives them to to, or nobody.
func (sh *shard) dropDelayed(to dropping) (all bool) {
	sh.next.Store(never)
	if sh.windows() != nil {
		sh.setWindows(nil)
	}
	return sh.wheel == nil || sh.wheel.Advance(never, stepsPerHold, func(id uint32) {
		e := sh.table.At(id)
		if sh.wheel.serves(id) && !sh.set.closing.discarding.Load() { // the queue has accepted these adds
			sh.add(id, e, request{priority: sh.clearDelay(id, e)})
			return
		}
		if to != nil {
			to.drop(e)
		}
		sh.clearDelay(id, e)
		sh.rare.dropped++
		if e.Phase() == items.Idle {
			sh.forget(id, e, items.Position{})
		}
	})
}

// discardReady drops ready items, so that workers learn of the shutdown at
// once.
func (s *Core) discardReady() {
	for sh := range s.shards.made() {
		for sh.discardSome() {
		}
	}
	s.wake() // a consumer may wait for a throttled group
}

func (sh *shard) discardSome() (more bool) {
	var ids [stepsPerHold]uint32
	n := 0
	sh.lock()
	if sh.table != nil {
		sh.line.Walk(&sh.table.Table, func(id uint32) (on bool) {
			ids[n] = id
			n++
			return n < len(ids)
		})
	}
	for _, id := range ids[:n] {
		sh.discard(id, sh.table.At(id))
	}
	due := sh.reportsDue()
	sh.unlock()
	sh.set.settle(due)
	sh.set.notify()
	return n == len(ids)
}
