package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Cancel cancels all adds of item that no processing has begun for, and a
// processing, whose return then makes nothing ready.
func (s *Set[T]) Cancel(item T) (was stats.Canceled) {
	sh, hash := s.locate(item)
	return sh.cancelAndNotify(items.KeyOf(&item), hash, true)
}

// EndDelay makes a delayed item ready, or dirty, as the end of its delay does.
func (s *Set[T]) EndDelay(item T) (ended bool) {
	s.Core.refresh()
	sh, hash := s.locate(item)
	return sh.endDelay(items.KeyOf(&item), hash)
}

func (sh *shard) endDelay(key items.Key, hash uint32) (ended bool) {
	fx := effects(0)
	sh.lock()
	id := sh.find(key, hash)
	if ended = id != 0 && sh.table.At(id).Delayed() && !sh.set.closing.begun.Load(); ended {
		fx = sh.expireNow(id)
	}
	sh.unlock()
	sh.set.after(fx)
	return ended
}

func (sh *shard) expireNow(id uint32) effects {
	before := sh.line.Depth()
	sh.wheel.Cancel(id)
	sh.expireItem(id)
	return sh.effectsOfExpiry(before)
}

// Withdraw is [Set.Cancel] of the adds alone, at a known address.
func (s *Set[T]) Withdraw(item T, a Address) {
	s.Core.shard(int(a.shard)).cancelAndNotify(items.KeyOf(&item), a.to.hash, false)
}

// CancelRun is [Set.Cancel] of a processing alone. It calls no user code: see
// [Core.ReportChanges].
func (s *Set[T]) CancelRun(item T, a *Address) {
	s.Core.shard(int(a.shard)).cancelRun(items.KeyOf(&item), a.to.hash)
}

func (sh *shard) cancelRun(key items.Key, hash uint32) {
	sh.lock()
	defer sh.unlock()
	if id, e := sh.inProcessing(key, hash); id != 0 {
		sh.noteCancel(id, e)
	}
}

// Uncancel takes a cancel of a processing back.
func (s *Core) Uncancel(h Handle) {
	sh, e := s.lockClaimed(h)
	defer sh.unlock()
	if e != nil && sh.wasCanceled(h.id, e) {
		sh.table.NoteCancel(h.id, 0)
	}
}

func (sh *shard) cancelAndNotify(key items.Key, hash uint32, run bool) (was stats.Canceled) {
	was, fx := sh.cancelIn(key, hash, run)
	// Consumers may wait, after a shutdown, for this throttled item alone.
	if was.Ready && sh.set.mayLeave() {
		fx |= wakes
	}
	sh.set.after(fx)
	return was
}

func (sh *shard) cancelIn(key items.Key, hash uint32, run bool) (was stats.Canceled, fx effects) {
	sh.lock()
	defer sh.unlock()
	sh.closeWindow(key, hash)
	id := sh.find(key, hash)
	if id == 0 {
		return was, fx
	}
	e := sh.table.At(id)
	if was.Delayed = e.Delayed(); was.Delayed {
		sh.cancelDelay(id, e)
	}
	if run && e.InFlight() {
		fx = sh.noteCancel(id, e)
	}
	what := sh.withdraw(id, e)
	was.Ready, was.Dirty = what == items.Withdraw, what == items.Unmark
	if was.Any() {
		sh.rare.canceled++
	}
	if e.Phase() == items.Idle {
		sh.forget(id, e, items.Position{})
	}
	return was, fx | sh.reportsDue()
}

// withdraw cancels the run to come of a ready or dirty item.
func (sh *shard) withdraw(id uint32, e *items.Entry) (what items.Effect) {
	if what = e.Step(items.Canceled); what == items.Withdraw || what == items.Unmark {
		sh.leftLine(id, e)
		sh.table.times.onCancel(id, what)
	}
	if what == items.Withdraw {
		sh.pull(id, e)
	}
	return what
}
