package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Done ends the processing of item, or counts and reports a misuse.
func (s *Set[T]) Done(item T) {
	sh, hash := s.locate(item)
	s.Core.refreshOr(func() { s.doneIn(sh, item, hash) })
	s.doneIn(sh, item, hash)
}

func (s *Set[T]) doneIn(sh *shard, item T, hash uint32) {
	if !sh.tryLock() {
		sh.lockSlowly()
	}
	fx := sh.endItem(items.KeyOf(&item), hash)
	sh.unlock()
	s.Core.after(fx)
	if fx&took == 0 {
		s.Misuse(item)
	}
}

func (sh *shard) endItem(key items.Key, hash uint32) (fx effects) {
	if sh.table != nil {
		if id, p := sh.table.Find(hash, key); id != 0 {
			if e := sh.table.At(id); e.InFlight() {
				fx = sh.finish(id, e, p)
			}
		}
	}
	return fx
}

// End ends the processing that h names, as [Set.Done] does, without reading the
// item. It reports false if that processing had ended before.
func (s *Core) End(h Handle) (ended bool) {
	s.refreshOr(func() { s.endNow(h) })
	return s.endNow(h)
}

func (s *Core) endNow(h Handle) (ended bool) {
	sh := s.shard(int(h.shard))
	if !sh.tryLock() {
		sh.lockSlowly()
	}
	fx := sh.endClaimed(h)
	sh.unlock()
	s.after(fx)
	return fx&took != 0
}

func (sh *shard) endClaimed(h Handle) (fx effects) {
	if e := sh.claimed(h); e != nil {
		fx = sh.finish(h.id, e, items.Position{})
	}
	return fx
}

// DoneAt is [Core.End], which counts and reports a late end as a misuse.
func (s *Set[T]) DoneAt(item T, h Handle) {
	if !s.Core.End(h) {
		s.Misuse(item)
	}
}

// Misuse counts and reports a Done of an item that is not in processing.
func (s *Set[T]) Misuse(item T) {
	s.Core.faults.misused.Add(1)
	s.report(stats.DoneWithoutGet, item)
}

// finish ends a processing. p is the position of its slot, or zero if not
// known.
func (sh *shard) finish(id uint32, e *items.Entry, p items.Position) (fx effects) {
	if e.Phase() == items.Dirty && sh.set.closing.discarding.Load() {
		sh.discard(id, e)
	}
	outcome := e.Step(items.Finished)
	fx = took
	sh.countDone()
	t := sh.table.times
	if t != nil {
		t.finish(&sh.table.Table, id, e)
	}
	if sh.line.Finish(id) {
		fx |= wakes
		sh.show()
	}
	switch {
	case outcome == items.Enqueue:
		sh.push(id, e)
		fx |= wakes
	case !e.Delayed():
		sh.forget(id, e, p)
	case t != nil:
		t.set(id, t.coarse.Now.Load())
	}
	if sh.owes != 0 {
		fx |= sh.reportsDue()
	}
	return fx
}

// countDone counts in a byte, which fits into the first cache line, and in
// rare.
func (sh *shard) countDone() {
	if sh.done++; sh.done == 0 {
		sh.rare.done += 1 << 8
	}
}

func (sh *shard) find(key items.Key, hash uint32) (id uint32) {
	if sh.table != nil {
		id, _ = sh.table.Find(hash, key)
	}
	return id
}

func (sh *shard) inProcessing(key items.Key, hash uint32) (id uint32, e *items.Entry) {
	if id = sh.find(key, hash); id != 0 {
		if e = sh.table.At(id); e.InFlight() {
			return id, e
		}
	}
	return 0, nil
}

// forget removes an idle entry. Nothing refers to its item afterwards.
func (sh *shard) forget(id uint32, e *items.Entry, p items.Position) {
	if sh.set.limit != nil {
		sh.set.limit.Release(1)
	}
	if sh.line.Leave(&sh.table.Table, id) {
		sh.show()
	}
	sh.table.Remove(id, e, p)
	sh.releaseIfDue()
}

// HandleOf returns the Handle of an item in processing, or the zero Handle.
func (s *Set[T]) HandleOf(item T) Handle {
	s.Core.refreshForWork()
	sh, hash := s.locate(item)
	return sh.handleOf(items.KeyOf(&item), hash)
}

func (sh *shard) handleOf(key items.Key, hash uint32) Handle {
	sh.lock()
	defer sh.unlock()
	id, e := sh.inProcessing(key, hash)
	if id == 0 {
		return Handle{}
	}
	return sh.handle(id, e)
}

func (sh *shard) discard(id uint32, e *items.Entry) {
	sh.rare.dropped++
	if sh.withdraw(id, e) == items.Withdraw {
		sh.forget(id, e, items.Position{})
	}
}
