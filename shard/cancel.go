package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Cancel cancels all adds of item that no processing has begun for.
func (s *Set[T]) Cancel(item T) (was stats.Canceled) {
	sh, hash := s.locate(item)
	return sh.cancelAndNotify(items.KeyOf(&item), hash)
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
		before := sh.line.Depth()
		sh.wheel.Cancel(id)
		sh.expireItem(id)
		fx = sh.effectsOfExpiry(before)
	}
	sh.unlock()
	sh.set.after(fx)
	return ended
}

// CancelTo is [Set.Cancel] at a known address.
func (s *Set[T]) CancelTo(item T, a Address) (was stats.Canceled) {
	return s.Core.shard(int(a.shard)).cancelAndNotify(items.KeyOf(&item), a.to.hash)
}

func (sh *shard) cancelAndNotify(key items.Key, hash uint32) (was stats.Canceled) {
	was, fx := sh.cancelIn(key, hash)
	// Consumers may wait, after a shutdown, for this throttled item alone.
	if was.Ready && sh.set.mayLeave() {
		fx |= wakes
	}
	sh.set.after(fx)
	return was
}

func (sh *shard) cancelIn(key items.Key, hash uint32) (was stats.Canceled, fx effects) {
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
