package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
)

// A Drain may accept retries: adds of items in processing. Other adds are
// dropped, so that an empty shard stays empty, and the shutdown is completed
// when all are: consumers must stay for the retries, and the driver for their
// delays. The first call that ends a queue decides. Later ones may only refuse.

// takesBack reports whether an add of item is accepted although adds are
// refused: see addItem.
func (sh *shard) takesBack(key items.Key, hash uint32) bool {
	if !sh.set.closing.retries.Taken() {
		return false
	}
	id, _ := sh.inProcessing(key, hash)
	return id != 0
}

// sweep drops the delayed items or makes them ready when a Drain begins, a bounded
// number for each hold of a lock. It locks each shard at least once, because an
// AddAfter may have been accepted without having filed its timer yet. A retry that
// comes in between helps to finish the sweep of its shard before it files its
// delay, because the sweep takes all timers.
func (s *Core) sweep(w DelayedPolicy, dropped dropping) {
	defer dropped.keep()
	defer s.notify() // which may panic
	defer func() {   // also if the clock panics
		for sh := range s.shards.made() {
			for !sh.beginSweep(w, dropped) { // another Drain's sweep is under way
				sh.sweepSome()
			}
			for sh.sweepSome() {
			}
		}
	}()
	s.refresh()
}

func (sh *shard) beginSweep(w DelayedPolicy, dropped dropping) bool {
	sh.lock()
	defer sh.unlock()
	switch {
	case sh.sweeping():
		return false
	case sh.wheel == nil:
	case w == DropDelayed:
		sh.wheel.sweep = func() bool { return sh.dropDelayed(dropped) }
	default:
		wheel := sh.wheel
		wheel.sweep = func() bool { return wheel.Advance(never, stepsPerHold, sh.expireItem) }
	}
	return true
}

func (sh *shard) sweeping() bool { return sh.wheel != nil && sh.wheel.sweep != nil }

func (sh *shard) sweepSome() (more bool) {
	sh.lock()
	before := sh.line.Depth()
	if more = sh.sweeping(); more && sh.wheel.sweep() {
		sh.wheel, more = nil, false // it is empty, and stands at the end of time
		sh.next.Store(never)
	}
	fx := sh.effectsOfExpiry(before)
	sh.unlock()
	sh.set.publish(fx)
	return more
}

// Again asks for one more run of an item in processing, with at least that
// priority, and ends its delay. It reports false if the processing had ended.
func (s *Core) Again(h Handle, priority int) (inProcessing bool) {
	sh, e := s.lockClaimed(h)
	defer sh.unlock()
	if e != nil {
		sh.add(h.id, e, request{priority: priority, cancelsDelay: true})
	}
	return e != nil
}

// NotAgain cancels the adds made during a processing. It calls no user code.
func (s *Core) NotAgain(h Handle) {
	sh, e := s.lockClaimed(h)
	defer sh.unlock()
	if e != nil {
		if e.Delayed() {
			sh.cancelDelay(h.id, e)
		}
		sh.withdraw(h.id, e)
	}
}

// A Comeback is the result of [Core.Retry].
type Comeback uint8

const (
	TooLate   Comeback = iota // the processing had ended, and nothing has changed
	TakenBack                 // the item was added again
	Refused                   // a shutdown has begun; the item counts as dropped, its processing goes on
	Canceled                  // the item was canceled; its processing goes on
)

// Retry ends a processing and adds the item again, after a delay if there is one,
// unless it was canceled. Once a shutdown has begun, only a Drain that accepts
// retries allows it.
func (s *Core) Retry(h Handle, d Delay) (came Comeback) {
	deadline := Deadline{}
	readOr(func() {
		s.refreshForWork()
		if d.Duration > 0 {
			deadline = s.DeadlineOf(d)
		}
	}, func() { s.releaseNow(h, d.Priority) })
	return s.retryAt(h, deadline, d)
}

// Release ends a processing and makes the item ready again, last in its shard,
// unless it was canceled.
func (s *Core) Release(h Handle, priority int) (ended bool) {
	s.refreshOr(func() { s.releaseNow(h, priority) })
	return s.releaseNow(h, priority)
}

func (s *Core) releaseNow(h Handle, priority int) (ended bool) {
	sh, e := s.lockClaimed(h)
	fx := effects(0)
	if e != nil {
		if !sh.wasCanceled(h.id, e) {
			sh.add(h.id, e, request{priority: priority})
		}
		fx = sh.finish(h.id, e, items.Position{})
	}
	sh.unlock()
	s.after(fx)
	return fx&took != 0
}

func (s *Core) retryAt(h Handle, d Deadline, as Delay) (came Comeback) {
	sh, e := s.lockSwept(h)
	fx, filed := effects(0), uint64(never)
	switch {
	case e == nil:
	case sh.wasCanceled(h.id, e):
		came = Canceled
	case !s.TakesBack():
		if came = Refused; !as.Reports {
			sh.rare.dropped++
		}
	default:
		came = TakenBack
		if d.delayed {
			filed = sh.fileAgain(h.id, e, d)
		} else {
			sh.add(h.id, e, s.config.request(as.Priority))
		}
		fx = sh.finish(h.id, e, items.Position{})
	}
	sh.unlock()
	if came == TakenBack && as.Retry {
		s.countRetry()
	}
	s.publish(fx)
	s.driver.filedIf(filed, d.at) // these two may panic
	s.notify()
	return came
}

// Postpone delays an item in processing, whose next run also serves adds made
// during the processing. The delay must be positive. It files the delay
// before it calls user code.
func (s *Core) Postpone(h Handle, d Deadline, priority int, policy DelayPolicy) (inProcessing bool) {
	d.priority = priority
	addsGoFirst := policy == KeepEarliest
	sh, e := s.lockSwept(h)
	deadline := uint64(never)
	switch {
	case e == nil:
	case !s.TakesBack():
		sh.add(h.id, e, request{priority: d.priority})
	case addsGoFirst && e.Phase() == items.Dirty:
		sh.raisePriority(h.id, e, d.priority)
	default:
		sh.delayAdds(h.id, e, &d)
		if !addsGoFirst && e.Delayed() {
			filed, _ := sh.wheel.Deadline(h.id)
			d.deadline = policy.choose(filed, d.deadline)
			d.priority = max(d.priority, sh.cancelDelay(h.id, e))
		}
		deadline = sh.fileAgain(h.id, e, d)
	}
	sh.unlock()
	s.driver.filedIf(deadline, d.at)
	if deadline != never {
		s.countRetry()
	}
	s.reportAdds()
	return e != nil
}

// lockSwept is lockClaimed after the end of a sweep of the shard, which must
// not take the timer that the caller files.
func (s *Core) lockSwept(h Handle) (sh *shard, e *items.Entry) {
	for {
		if sh, e = s.lockClaimed(h); !s.TakesBack() || !sh.sweeping() {
			return sh, e
		}
		sh.unlock()
		sh.sweepSome()
	}
}

func (sh *shard) fileAgain(id uint32, e *items.Entry, d Deadline) (deadline uint64) {
	if sh.wheel == nil {
		sh.wheel = newWheel(d.at.now)
	}
	if d.deadline <= sh.wheel.Now() {
		// The clock has moved on since it was read, or it was set back. In
		// either case the driver finds that out before the item becomes ready.
		sh.wheel.Rewind(d.at.now)
		sh.publishNext()
	}
	deadline = sh.fileTimerOf(id, e, &d)
	sh.noteFiled(&d)
	return deadline
}
