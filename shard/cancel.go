package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Cancel cancels all adds of item that no processing has begun for.
func (s *Set[T]) Cancel(item T) (was stats.Canceled) {
	sh, hash := s.locate(item)
	return s.cancelAndNotify(sh, item, hash)
}

// EndDelay makes a delayed item ready, or dirty, as the end of its delay does.
func (s *Set[T]) EndDelay(item T) (ended bool) {
	s.Core.refresh()
	sh, hash := s.locate(item)
	fx := effects(0)
	sh.lock()
	id := s.find(sh, item, hash)
	if ended = id != 0 && sh.table.At(id).Delayed() && !s.Core.closing.begun.Load(); ended {
		before := sh.line.Depth()
		sh.wheel.Cancel(id)
		sh.expireItem(id)
		fx = sh.effectsOfExpiry(before)
	}
	sh.unlock()
	s.Core.after(fx)
	return ended
}

// CancelTo is [Set.Cancel] at a known address.
func (s *Set[T]) CancelTo(item T, a Address) (was stats.Canceled) {
	return s.cancelAndNotify(s.Core.shard(int(a.shard)), item, a.to.hash)
}

func (s *Set[T]) cancelAndNotify(sh *shard, item T, hash uint32) (was stats.Canceled) {
	was, fx := s.cancelIn(sh, item, hash)
	// Consumers may wait, after a shutdown, for this throttled item alone.
	if was.Ready && s.Core.mayLeave() {
		fx |= wakes
	}
	s.Core.after(fx)
	return was
}

func (s *Set[T]) cancelIn(sh *shard, item T, hash uint32) (was stats.Canceled, fx effects) {
	sh.lock()
	defer sh.unlock()
	s.closeWindow(sh, item, hash)
	id := s.find(sh, item, hash)
	if id == 0 {
		return was, fx
	}
	e := sh.table.At(id)
	if was.Delayed = e.Delayed(); was.Delayed {
		sh.cancelDelay(id, e)
	}
	if e.InFlight() {
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
