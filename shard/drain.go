package shard

import (
	"context"
	"sync"
	"sync/atomic"
)

// drain lets callers wait until all shards have come to a state that they do not
// leave again, such as quiescence: nothing ready and nothing in processing. A closed
// shard that is quiescent stays so, since adds are dropped and its timers are gone.
// So each shard reports once, and the last report ends the wait.
type drain struct {
	// owing counts the shards that have not reported, and one more until all shards
	// were looked at.
	owing atomic.Int32
	// done is closed when owing comes to 0.
	done chan struct{}
	// current is closed, and replaced, by each ShutDown.
	current atomic.Pointer[chan struct{}]
}

func (d *drain) init() {
	d.owing.Store(1)
	d.done = make(chan struct{})
	released := make(chan struct{})
	d.current.Store(&released)
}

// owe announces a report to come.
func (d *drain) owe() { d.owing.Add(1) }

// settle is a report.
func (d *drain) settle() {
	if d.owing.Add(-1) == 0 {
		close(d.done)
	}
}

// released returns a channel that the next release closes.
func (d *drain) released() <-chan struct{} { return *d.current.Load() }

// release ends the waits that are under way.
func (d *drain) release() {
	next := make(chan struct{})
	close(*d.current.Swap(&next))
}

// wait blocks until all have reported, cancel is closed or the wait is released, and
// reports whether all have.
func (d *drain) wait(cancel, released <-chan struct{}) bool {
	select {
	case <-d.done:
		return true
	case <-cancel:
	case <-released:
	}
	select {
	case <-d.done: // as well
		return true
	default:
		return false
	}
}

// quiet reports whether nothing in the shard is ready or in processing.
func (sh *shard[T]) quiet() bool { return sh.depth() == 0 && sh.processing() == 0 }

// waits reports whether something in the shard waits.
func (sh *shard[T]) waits() bool { return sh.wheel != nil && sh.wheel.Len() > 0 }

func (sh *shard[T]) isEmpty() bool { return sh.table == nil || sh.table.live == 0 }

// reportsDue returns the reports that the shard owes, and has come to. It is to be
// called where something was forgotten, or waits no more; settle is to follow, with
// no lock held.
func (sh *shard[T]) reportsDue() (due effects) {
	if sh.owes == 0 {
		return 0
	}
	if sh.quiet() {
		due |= quiet
	}
	if !sh.waits() {
		due |= noneWaits
	}
	if sh.isEmpty() {
		due |= empty | emptyNow
	}
	due &= sh.owes
	sh.owes &^= due
	return due
}

// owe announces a report of the shard to a drain, unless it owes that already.
func (sh *shard[T]) owe(r effects, to *drain) {
	if sh.owes&r == 0 {
		sh.owes |= r
		to.owe()
	}
}

// settle passes the reports of a shard on.
func (s *Set[T]) settle(due effects) {
	if due&noneWaits != 0 {
		s.waited.settle()
	}
	if due&empty != 0 {
		s.emptied.settle()
	}
	if due&quiet != 0 {
		s.drained.settle()
	}
	if due&emptyNow != 0 {
		s.idled.release()
	}
}

// A WaitingPolicy says what a Drain does with the items that wait for their delays.
type WaitingPolicy uint8

const (
	// DropWaiting drops them, and returns them.
	DropWaiting WaitingPolicy = iota
	// RunWaiting ends their delays at once.
	RunWaiting
	// AwaitWaiting lets their delays go on, and waits for them.
	AwaitWaiting

	waitingPolicies
)

// Valid reports whether w is one of the policies.
func (w WaitingPolicy) Valid() bool { return w < waitingPolicies }

// Draining says how a Drain drains.
type Draining struct {
	// Waiting says what becomes of what waits when the drain begins.
	Waiting WaitingPolicy
	// Retries takes in the adds of items in processing until the drain is over.
	Retries bool
}

// Drain refuses adds from now on, deals with what waits as it is told, and waits until
// nothing waits, is ready or in processing: then the queue is shut down. It gives up when
// ctx ends, with its error, and when a ShutDown comes, with [ErrShutDown]; what it has
// begun goes on. It returns the items that it dropped.
func (s *Set[T]) Drain(ctx context.Context, w WaitingPolicy) (dropped []T, err error) {
	err = s.DrainUntil(ctx, Draining{Waiting: w}, s.Released(), &dropped)
	return dropped, err
}

// Released returns a channel that the next ShutDown closes.
func (s *Set[T]) Released() <-chan struct{} { return s.drained.released() }

// DrainUntil is Drain that gives up when released is closed, rather than when a ShutDown comes
// after its call: for a caller whose own drain began before that. It appends what it drops,
// and what a ShutDown drops that it waits for, to dropped: also if a hook panics then.
func (s *Set[T]) DrainUntil(ctx context.Context, d Draining, released <-chan struct{}, dropped *[]T) error {
	before := s.abandoned.is()
	ended := func(part *drain) bool {
		if part.wait(ctx.Done(), released) && s.abandoned.is() == before {
			return true
		}
		*dropped = append(*dropped, s.abandoned.take()...)
		return false
	}
	s.refuse(d.Retries)
	switch {
	case d.Retries && s.TakesBack():
		s.sweep(d.Waiting, dropped)
		s.oweAll(&s.emptying, empty, &s.emptied)
		if !ended(&s.emptied) {
			return drainError(ctx)
		}
	case d.Waiting == RunWaiting:
		s.runWaiting()
	case d.Waiting == AwaitWaiting:
		s.oweAll(&s.awaiting, noneWaits, &s.waited)
		if !ended(&s.waited) {
			return drainError(ctx)
		}
	}
	s.close(func(items []T) { *dropped = append(*dropped, items...) })
	if !s.drained.wait(ctx.Done(), released) {
		return drainError(ctx)
	}
	*dropped = append(*dropped, s.unreturned.take()...)
	return nil
}

// ReturnLater has the next Drain return items that one has dropped that a panic ended.
func (s *Set[T]) ReturnLater(dropped []T) { s.unreturned.add(dropped) }

// abandoned are the items that a ShutDown has dropped although a Drain was waiting for
// them. Of several such drains, the first to look returns them.
type abandoned[T comparable] struct {
	mu    sync.Mutex // a leaf
	any   bool
	items []T
}

func (a *abandoned[T]) add(items []T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.any = true
	a.items = append(a.items, items...)
}

// is reports whether there ever were any.
func (a *abandoned[T]) is() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.any
}

func (a *abandoned[T]) take() []T {
	a.mu.Lock()
	defer a.mu.Unlock()
	items := a.items
	a.items = nil
	return items
}

func drainError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrShutDown
}

// runWaiting makes ready all that waits, in turns of bounded length. It locks each shard
// once at least: an AddAfter in flight may have been let in, and not filed its timer yet.
func (s *Set[T]) runWaiting() {
	defer s.expireAll() // also if the clock panics
	s.refresh()
}

func (s *Set[T]) expireAll() {
	for sh := range s.made() {
		for more := true; more; more = sh.next.Load() != never {
			s.publish(sh.expire(reading{now: never}))
		}
	}
}

// oweAll announces a report of each shard to a drain, unless the shard has come to
// that already. The first call does it for all.
func (s *Set[T]) oweAll(begun *atomic.Bool, r effects, to *drain) {
	if !begun.CompareAndSwap(false, true) {
		return
	}
	for sh := range s.made() {
		sh.mu.Lock()
		sh.owe(r, to)
		due := sh.reportsDue()
		sh.mu.Unlock()
		s.settle(due)
	}
	to.settle()
}
