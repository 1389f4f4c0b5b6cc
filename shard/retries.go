package shard

import "sync/atomic"

// A Drain may accept retries: adds of items in processing. Other adds are
// dropped, so that an empty shard stays empty, and the shutdown is completed
// when all are: consumers must stay for the retries, and the driver for their
// delays. The first call that ends a queue decides, and later ones only for
// refusal.

// Retries decides whether retries are accepted after the end has begun.
type Retries struct{ state atomic.Uint32 }

const (
	undecided       = iota // no call has begun that ends the queue
	takingRetries          // only Drains that accept retries have
	refusingRetries        // another call has
)

// Decide notes that a call begins that ends the queue.
func (r *Retries) Decide(take bool) {
	if !take {
		r.state.Store(refusingRetries)
	} else {
		r.state.CompareAndSwap(undecided, takingRetries)
	}
}

// Taken reports whether the end has begun, and retries are accepted.
func (r *Retries) Taken() bool { return r.state.Load() == takingRetries }

// TakesBack reports whether items in processing can be added.
func (s *Set[T]) TakesBack() bool {
	return !s.closing.refusing.Load() || s.closing.retries.Taken()
}

// takesBack reports whether an add of item is accepted although adds are
// refused: see addItem.
func (sh *shard[T]) takesBack(item T, hash uint32) bool {
	if !sh.set.closing.retries.Taken() {
		return false
	}
	id, _ := sh.inProcessing(item, hash)
	return id != 0
}

// sweep applies the policy to the delayed items when a Drain begins that
// accepts retries, a bounded number for each hold of a lock. A retry that comes
// in between helps to finish the sweep of its shard before it files its delay,
// because the sweep takes all timers.
func (s *Set[T]) sweep(w DelayedPolicy, dropped *[]T) {
	if w == AwaitDelayed {
		return
	}
	s.refresh()
	for sh := range s.made() {
		for !s.beginSweep(sh, w, dropped) { // another Drain's sweep is under way
			s.sweepSome(sh)
		}
		for s.sweepSome(sh) {
		}
	}
	s.notify() // last, because it may panic
}

func (s *Set[T]) beginSweep(sh *shard[T], w DelayedPolicy, dropped *[]T) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch {
	case sh.sweeping():
		return false
	case sh.wheel == nil:
	case w == DropDelayed:
		sh.wheel.sweep = func() bool {
			return sh.dropDelayed(func(item T) { *dropped = append(*dropped, item) })
		}
	default:
		wheel := sh.wheel
		wheel.sweep = func() bool { return wheel.Advance(never, stepsPerHold, sh.expireItem) }
	}
	return true
}

func (sh *shard[T]) sweeping() bool { return sh.wheel != nil && sh.wheel.sweep != nil }

func (s *Set[T]) sweepSome(sh *shard[T]) (more bool) {
	fx, more := s.sweepOnce(sh)
	s.publish(fx)
	return more
}

func (s *Set[T]) sweepOnce(sh *shard[T]) (fx effects, more bool) {
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
	return sh.effectsOfExpiry(before), more
}
