// Package itemlimit limits the weight of the items that a queue holds. It
// counts what is held and lets callers wait in order for free capacity.
package itemlimit

import (
	"container/list"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
)

// ErrClosed is the error of [Limiter.Acquire] after [Limiter.Close].
var ErrClosed = errors.New("item limiter is closed")

// A Limiter is a counting semaphore for the weight of the items held. A weight
// above the whole capacity is granted when nothing else is held. A nil Limiter
// grants every weight and counts nothing.
//
// ForceAcquire, TryAcquire and Release may be called with a lock held. Once it
// is released, the caller must call Notify. No lock may be held during any
// other method.
//
// A Release and a new waiter cannot miss each other. Release lowers held, and
// Notify then checks for waiters. Acquire adds its waiter, and then checks
// held. The later of the two checks sees the other change.
type Limiter struct {
	capacity   int64
	held       atomic.Int64
	exceeded   atomic.Uint64
	waiting    atomic.Int32 // the waiters, and the granted one until FinishAcquire
	watermarks watermarks

	mu      sync.Mutex // guards the fields below
	waiters list.List  // of *waiter, in the order of their calls
	// granting lasts until FinishAcquire, so that items are added in order.
	granting bool
	closed   bool // no waiter is granted any more
}

type waiter struct {
	weight  int64
	done    chan struct{} // closed when the waiter has left the list
	refused bool          // it left because of Close
}

// New returns a Limiter, or nil without a capacity and a hook. Notify calls
// hook with true when the weight held rises to high, and with false when it
// then falls to low.
func New(capacity, high, low int64, hook func(high bool)) *Limiter {
	if capacity == 0 && hook == nil {
		return nil
	}
	l := &Limiter{capacity: capacity}
	if capacity == 0 {
		l.capacity = math.MaxInt64
	}
	l.watermarks.high, l.watermarks.low, l.watermarks.hook = high, low, hook
	return l
}

// ForceAcquire adds weight to the weight held, beyond the capacity if need be.
func (l *Limiter) ForceAcquire(weight int64) {
	if l != nil && l.held.Add(weight) > l.capacity {
		l.exceeded.Add(1)
	}
}

// TryAcquire adds weight, if the capacity allows and no caller waits.
func (l *Limiter) TryAcquire(weight int64) bool {
	return l == nil || l.waiting.Load() == 0 && l.reserve(weight)
}

func (l *Limiter) reserve(weight int64) bool {
	for {
		held := l.held.Load()
		if held > 0 && held > l.capacity-weight { // a sum could overflow
			return false
		}
		if l.held.CompareAndSwap(held, held+weight) {
			return true
		}
	}
}

// Release subtracts weight from the weight held.
func (l *Limiter) Release(weight int64) {
	if l != nil {
		l.held.Add(-weight)
	}
}

// Held returns the weight held.
func (l *Limiter) Held() int64 {
	if l == nil {
		return 0
	}
	return l.held.Load()
}

// Exceeded returns the number of ForceAcquires beyond the capacity.
func (l *Limiter) Exceeded() uint64 {
	if l == nil {
		return 0
	}
	return l.exceeded.Load()
}

// Notify grants the first waiter, if the capacity allows, and calls the hook of
// the watermarks. It must follow each change of the weight.
func (l *Limiter) Notify() {
	if l != nil {
		l.notify()
	}
}

func (l *Limiter) notify() {
	if l.waiting.Load() > 0 && l.held.Load() < l.capacity {
		l.mu.Lock()
		l.grantLocked()
		l.mu.Unlock()
	}
	l.watermarks.notify(&l.held)
}

func (l *Limiter) grantLocked() {
	if first := l.waiters.Front(); first != nil && !l.granting && l.reserve(first.Value.(*waiter).weight) {
		l.granting = true
		l.waiting.Add(1) // until FinishAcquire
		l.leaveLocked(first)
	}
}

// FinishAcquire follows an Acquire, when the item was added, or could not be.
func (l *Limiter) FinishAcquire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.granting = false
	l.waiting.Add(-1)
	l.grantLocked()
}

// Acquire waits, in the order of calls, until the capacity allows weight, or
// returns ctx.Err() or ErrClosed. After a nil error, FinishAcquire must follow.
func (l *Limiter) Acquire(ctx context.Context, weight int64) error {
	w := &waiter{weight: weight, done: make(chan struct{})}
	place := l.enqueue(w)
	if place == nil {
		return ErrClosed
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if l.cancel(place) {
			return ctx.Err()
		}
		// The waiter was granted or refused meanwhile, and that stands.
	}
	if w.refused {
		return ErrClosed
	}
	return nil
}

// enqueue returns the waiter's place in the list, or nil after Close.
func (l *Limiter) enqueue(w *waiter) (place *list.Element) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	place = l.waiters.PushBack(w)
	l.waiting.Add(1)
	l.grantLocked()
	return place
}

func (l *Limiter) cancel(place *list.Element) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-place.Value.(*waiter).done:
		return false
	default:
	}
	l.leaveLocked(place)
	l.grantLocked() // the new first waiter may have a lower weight
	return true
}

// leaveLocked also wakes the waiter.
func (l *Limiter) leaveLocked(place *list.Element) {
	w := l.waiters.Remove(place).(*waiter)
	l.waiting.Add(-1)
	close(w.done)
}

// Mutex returns the lock of the list of waiters, so that tests can hold it.
func (l *Limiter) Mutex() *sync.Mutex { return &l.mu }

// Close makes all current and later calls of Acquire return ErrClosed.
func (l *Limiter) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for first := l.waiters.Front(); first != nil; first = l.waiters.Front() {
		first.Value.(*waiter).refused = true
		l.leaveLocked(first)
	}
}

// watermarks call a hook when the weight held rises to high, and when it then
// falls to low. Calls alternate and never overlap. A goroutine that finds a
// call due sets busy, makes the call, clears busy, and checks again, for
// changes during a call. Several of these lead to one call, or to none if they
// cancel out.
type watermarks struct {
	high, low    int64
	hook         func(high bool)
	reportedHigh atomic.Bool // the argument of the last call
	busy         atomic.Bool // a goroutine makes calls
}

// notify makes the calls that are due. No lock may be held.
func (w *watermarks) notify(held *atomic.Int64) {
	if w.hook == nil {
		return
	}
	for w.due(held.Load()) && w.busy.CompareAndSwap(false, true) {
		w.report(held)
	}
}

func (w *watermarks) due(held int64) bool {
	if w.reportedHigh.Load() {
		return held <= w.low
	}
	return held >= w.high
}

// report makes the calls that are due, with busy set. The hook may panic, so
// reportedHigh is set before the call.
func (w *watermarks) report(held *atomic.Int64) {
	defer w.busy.Store(false)
	for w.due(held.Load()) {
		high := !w.reportedHigh.Load()
		w.reportedHigh.Store(high)
		w.hook(high)
	}
}
