package shard

import "sync/atomic"

// A Drain may take retries in: adds of items in processing, which may fail while the
// queue drains. Other adds are dropped, so that a shard that is empty stays so, and
// the drain is over when all are. Only then is the shutdown completed: consumers have
// to stay for the retries, and the driver for their delays.
//
// The first end of a queue decides: a Drain takes retries in if it is the first, and
// until another end begins that does not.

// Retries says whether retries are taken in once an end has begun.
type Retries struct{ state atomic.Uint32 }

const (
	// undecided: nothing has begun that would end the queue.
	undecided = iota
	// takingRetries: a Drain has begun that takes retries in, and nothing else.
	takingRetries
	// refusingRetries: something else has begun.
	refusingRetries
)

// Decide notes that an end begins, and whether it takes retries in.
func (r *Retries) Decide(take bool) {
	if !take {
		r.state.Store(refusingRetries)
	} else {
		r.state.CompareAndSwap(undecided, takingRetries)
	}
}

// Taken reports whether an end has begun, and retries are taken in.
func (r *Retries) Taken() bool { return r.state.Load() == takingRetries }

// TakesBack reports whether items in processing can be added.
func (s *Set[T]) TakesBack() bool {
	return !s.closing.refusing.Load() || s.closing.retries.Taken()
}

// takesBack reports, once adds are refused, whether that of this item is not. It is
// to be called under the lock: see addItem.
func (sh *shard[T]) takesBack(item T, hash uint32) bool {
	if !sh.set.closing.retries.Taken() {
		return false
	}
	id, _ := sh.inProcessing(item, hash)
	return id != 0
}

// sweep deals with what waits when a Drain begins that takes retries in. It puts
// each shard's lock down every stepsPerHold steps. A retry that comes in between
// helps to finish the sweep of its shard before it files its delay: the sweep takes
// all that is filed.
func (s *Set[T]) sweep(w WaitingPolicy, dropped *[]T) {
	if w == AwaitWaiting {
		return
	}
	s.refresh()
	for sh := range s.made() {
		for !sh.beginSweep(w, dropped) { // of another Drain
			s.sweepSome(sh)
		}
		for s.sweepSome(sh) {
		}
	}
	s.limit.Notify() // last, for it may panic
}

// beginSweep reports false if a sweep is under way. It takes the lock.
func (sh *shard[T]) beginSweep(w WaitingPolicy, dropped *[]T) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch {
	case sh.sweeping():
		return false
	case sh.wheel == nil:
	case w == DropWaiting:
		sh.wheel.sweep = func() bool {
			return sh.dropWaiting(func(item T) { *dropped = append(*dropped, item) })
		}
	default:
		wheel := sh.wheel
		wheel.sweep = func() bool { return wheel.Advance(never, stepsPerHold, sh.fire) }
	}
	return true
}

// sweeping reports whether something in the shard is still to be swept.
func (sh *shard[T]) sweeping() bool { return sh.wheel != nil && sh.wheel.sweep != nil }

// sweepSome does a part of a sweep, and reports whether there is more.
func (s *Set[T]) sweepSome(sh *shard[T]) (more bool) {
	fx, more := sh.sweepPart()
	s.publish(fx)
	return more
}

// sweepPart does so with the lock, which it takes.
func (sh *shard[T]) sweepPart() (fx effects, more bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !sh.sweeping() {
		return fx, false
	}
	before := sh.depth()
	if sh.wheel.sweep() {
		sh.wheel = nil // it is empty, and stands at the end of time
		sh.next.Store(never)
	} else {
		more = true
	}
	return sh.came(before), more
}
