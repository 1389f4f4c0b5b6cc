package shard

import (
	"context"
	"sync/atomic"
)

// drain lets callers wait until a closed queue is quiescent: nothing ready and
// nothing in processing. A closed shard that is quiescent stays so, since adds are
// dropped and its timers are gone; so each shard reports once, and the last report
// ends the wait.
type drain struct {
	// owing counts the shards that have not reported, and one more until the
	// shutdown has passed through all shards.
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
func (sh *shard[T]) quiet() bool { return sh.ready() == 0 && sh.processing == 0 }

// settles reports, when an item was forgotten, that the shard owes a drain its quiescence
// and has reached it. That happens once: a closed shard that is quiet has no items.
func (sh *shard[T]) settles() bool { return sh.owed && sh.quiet() }

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

// Drain refuses adds from now on, deals with what waits as it is told, and waits until
// nothing waits, is ready or in processing: then the queue is shut down. It gives up when
// ctx ends, with its error, and when a ShutDown comes, with [ErrShutDown]; what it has
// begun goes on. It returns the items that it dropped.
func (s *Set[T]) Drain(ctx context.Context, w WaitingPolicy) (dropped []T, err error) {
	return s.DrainUntil(ctx, w, s.Released())
}

// Released returns a channel that the next ShutDown closes.
func (s *Set[T]) Released() <-chan struct{} { return s.drained.released() }

// DrainUntil is Drain that gives up when released is closed, rather than when a ShutDown comes
// after its call: for a caller whose own drain began before that.
func (s *Set[T]) DrainUntil(ctx context.Context, w WaitingPolicy, released <-chan struct{}) (dropped []T, err error) {
	before := s.abandoned.Load()
	s.refuse()
	switch w {
	case RunWaiting:
		s.runWaiting()
	case AwaitWaiting:
		s.owewaits()
		if !s.waited.wait(ctx.Done(), released) || s.abandoned.Load() != before {
			return nil, drainError(ctx)
		}
	}
	s.close(func(item T) { dropped = append(dropped, item) })
	if !s.drained.wait(ctx.Done(), released) {
		return dropped, drainError(ctx)
	}
	return dropped, nil
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
	for i := range s.shards {
		sh := &s.shards[i]
		for more := true; more; more = sh.next.Load() != never {
			s.expireIn(sh, reading{now: never})
		}
	}
}

// owewaits announces a report of each shard in which something waits. The first call does
// it for all.
func (s *Set[T]) owewaits() {
	if !s.awaiting.CompareAndSwap(false, true) {
		return
	}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		if sh.wheel != nil && sh.wheel.Len() > 0 {
			sh.awaited = true
			s.waited.owe()
		}
		sh.mu.Unlock()
	}
	s.waited.settle()
}

// waitsNoMore reports, once, that a drain waits until nothing waits in the shard, and that
// nothing does.
func (sh *shard[T]) waitsNoMore() bool {
	if !sh.awaited || sh.wheel != nil && sh.wheel.Len() > 0 {
		return false
	}
	sh.awaited = false
	return true
}
