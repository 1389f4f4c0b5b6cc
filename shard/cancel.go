package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Cancel cancels all adds of item that no processing serves yet. If the item is
// in processing, it does not become ready afterwards.
func (s *Set[T]) Cancel(item T) (was stats.Canceled) {
	sh, hash := s.locate(item)
	if s.user.Forget != nil {
		defer s.user.Forget(item) // last, or a Retry might count another failure
	}
	return sh.cancelAndNotify(items.KeyOf(&item), hash, true)
}

// EndDelay ends the delay of an item at once, which makes the item ready or
// dirty.
func (s *Set[T]) EndDelay(item T) (ended bool) {
	s.Core.refresh()
	sh, hash := s.locate(item)
	sh.lock()
	return sh.endDelayAndUnlock(sh.find(items.KeyOf(&item), hash), false)
}

// Forget calls Config.Forget, and ends the item's backoff: one that serves adds
// like a delay, and any other by turning it into an ordinary delay.
func (s *Set[T]) Forget(item T) {
	if s.Core.config.KeepBackoff {
		sh, hash := s.locate(item)
		defer func() {
			sh.lock()
			sh.endDelayAndUnlock(sh.find(items.KeyOf(&item), hash), true)
		}()
		defer s.Core.refresh() // the clock may panic
	}
	s.user.Forget(item)
}

// EndBackoff is [Set.Forget] of an item in processing, without Config.Forget.
func (s *Core) EndBackoff(h Handle) {
	if s.config.KeepBackoff {
		defer func() {
			if sh, e := s.lockClaimed(h); e != nil {
				sh.endDelayAndUnlock(h.id, true)
			} else {
				sh.unlock()
			}
		}()
		s.refresh() // the clock may panic
	}
}

func (sh *shard) endDelayAndUnlock(id uint32, backoff bool) (ended bool) {
	fx := effects(0)
	switch {
	case id == 0 || !sh.table.At(id).Delayed():
	case backoff && !sh.wheel.serves(id):
		sh.wheel.endBackoff(id)
	case backoff || !sh.set.closing.begun.Load(): // the adds that a backoff serves came before
		ended = true
		before := sh.line.Depth()
		sh.wheel.Cancel(id)
		sh.expireItem(id)
		fx = sh.effectsOfExpiry(before)
	}
	sh.unlock()
	sh.set.after(fx)
	return ended
}

// Withdraw cancels the adds of item as [Set.Cancel] does, but does not mark its
// processing as canceled. If a is not nil, it calls neither Hash nor Group.
func (s *Set[T]) Withdraw(item T, a *Address) {
	if a == nil {
		a = new(Address)
		s.SetAddress(a, item)
	}
	s.Core.shard(int(a.shard)).cancelAndNotify(items.KeyOf(&item), a.to.hash, false)
}

func (sh *shard) cancelAndNotify(key items.Key, hash uint32, run bool) (was stats.Canceled) {
	was, fx := sh.cancelIn(key, hash, run)
	// After a shutdown, consumers may be waiting for this throttled item alone.
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
