package shard

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq/shard/internal/items"
)

// A drain waits until all shards have reached a state that they do not leave
// again. So each shard reports once, and the last report ends the wait.
type drain struct {
	owing   atomic.Int32                  // reports, and one until all shards were inspected
	done    chan struct{}                 // closed when owing reaches 0
	current atomic.Pointer[chan struct{}] // closed and replaced by each ShutDown
}

// drains are what a set's callers wait for.
type drains struct {
	drained        drain
	delaysDone     drain // no item is delayed, once a Drain has asked for that
	awaitingDelays atomic.Bool
	emptied        drain // the set is empty, once a Drain that accepts retries has asked
	emptying       atomic.Bool
	idled          drain // a shard became empty that a WaitIdle has checked
	stilled        drain // a shard came to a halt, or what can be handed out has changed
}

func (d *drains) init() {
	for _, one := range []*drain{&d.drained, &d.delaysDone, &d.emptied, &d.idled, &d.stilled} {
		one.init()
	}
}

func (d *drain) init() {
	d.owing.Store(1)
	d.done = make(chan struct{})
	released := make(chan struct{})
	d.current.Store(&released)
}

func (d *drain) settle() {
	if d.owing.Add(-1) == 0 {
		close(d.done)
	}
}

func (d *drain) released() <-chan struct{} { return *d.current.Load() }

func (d *drain) release() {
	next := make(chan struct{})
	close(*d.current.Swap(&next))
}

var errStill = fmt.Errorf("nothing that is left can be handed out before the deadline: %w", context.DeadlineExceeded)

// awaitDrain returns nil when d is over, and otherwise why it ends early.
func (s *Core) awaitDrain(ctx context.Context, d *drain, released <-chan struct{}) (cause error) {
	deadline, limited := ctx.Deadline()
	for {
		changed := s.drains.stilled.released() // before the check, so that no later change is missed
		if limited && s.isStill(deadline) {
			cause = errStill
			break
		}
		select {
		case <-changed:
			continue
		case <-d.done:
		case <-ctx.Done():
		case <-released:
		}
		break
	}
	if d.owing.Load() == 0 { // both may have happened
		return nil
	}
	return cmp.Or(ctx.Err(), cause, ErrShutDown)
}

func (sh *shard) quiet() bool   { return sh.line.Depth() == 0 && sh.line.Processing() == 0 }
func (sh *shard) isEmpty() bool { return sh.table == nil || sh.table.Live == 0 }

// reportsDue must be passed to settle once the lock is released.
func (sh *shard) reportsDue() (due effects) {
	if sh.quiet() {
		due |= quiet
	}
	if sh.wheel == nil || sh.wheel.Len() == 0 {
		due |= noneDelayed
	}
	if sh.isEmpty() {
		due |= empty | emptyNow
	}
	if sh.mayBeStill() {
		due |= still
	}
	due = (due | files) & effects(sh.owes)
	sh.owes &^= owed(due)
	return due
}

func (sh *shard) owe(r effects, to *drain) {
	if sh.owes&owed(r) == 0 {
		sh.owes |= owed(r)
		to.owing.Add(1)
	}
}

func (s *Core) settle(due effects) {
	if due&noneDelayed != 0 {
		s.drains.delaysDone.settle()
	}
	if due&empty != 0 {
		s.drains.emptied.settle()
	}
	if due&quiet != 0 {
		s.drains.drained.settle()
	}
	if due&emptyNow != 0 {
		s.drains.idled.release()
	}
	if due&still != 0 {
		s.drains.stilled.release()
	}
	if due&files != 0 {
		s.driver.pokeKeeping()
	}
}

// A DelayedPolicy decides what a Drain does with delayed items.
type DelayedPolicy uint8

const (
	DropDelayed  DelayedPolicy = iota // drop and return them
	RunDelayed                        // make them ready at once
	AwaitDelayed                      // wait until their delays have expired
	delayedPolicies
)

func (w DelayedPolicy) Valid() bool { return w < delayedPolicies }

// Draining configures a Drain.
type Draining struct {
	Delayed DelayedPolicy // for items that are delayed when the drain begins
	Retries bool          // accepts adds of items in processing until it is over
}

// Released returns a channel that the next ShutDown closes.
func (s *Core) Released() <-chan struct{} { return s.drains.drained.released() }

// DrainUntil ends adds, blocks until nothing is delayed, ready or in
// processing, and shuts down. It appends to dropped what it drops, and what a
// ShutDown drops meanwhile, also if a hook panics.
func (s *Set[T]) DrainUntil(ctx context.Context, d Draining, released <-chan struct{}, dropped *[]T) error {
	before := s.abandoned.any.Load()
	var part *drain // to wait for before the close
	s.Core.refuse(d.Retries)
	switch {
	case d.Retries && s.Core.TakesBack():
		s.sweepInto(d.Delayed, dropped)
		part = &s.Core.drains.emptied
		s.Core.oweAll(&s.Core.drains.emptying, empty, part)
	case d.Delayed == RunDelayed:
		s.Core.runDelayed()
	case d.Delayed == AwaitDelayed:
		part = &s.Core.drains.delaysDone
		s.Core.oweAll(&s.Core.drains.awaitingDelays, noneDelayed, part)
	}
	if part != nil {
		cause := s.Core.awaitDrain(ctx, part, released)
		if cause == nil && s.abandoned.any.Load() != before {
			cause = cmp.Or(ctx.Err(), ErrShutDown)
		}
		if cause != nil {
			*dropped = append(*dropped, s.abandoned.take()...)
			return cause
		}
	}
	s.Core.close(&droppedItems[T]{to: func(items []T) { *dropped = append(*dropped, items...) }})
	if cause := s.Core.awaitDrain(ctx, &s.Core.drains.drained, released); cause != nil {
		return cause
	}
	*dropped = append(*dropped, s.unreturned.take()...)
	return nil
}

// ReturnLater keeps items of a Drain that panicked for the next to return.
func (s *Set[T]) ReturnLater(dropped []T) { s.unreturned.add(dropped) }

func (s *Set[T]) sweepInto(w DelayedPolicy, dropped *[]T) {
	swept := droppedItems[T]{to: func(items []T) { *dropped = append(*dropped, items...) }}
	defer swept.keep() // also if a hook panics
	s.Core.sweep(w, &swept)
}

type droppedItems[T comparable] struct {
	items []T
	to    func(items []T)
}

func (d *droppedItems[T]) drop(e *items.Entry) { d.items = append(d.items, *items.Of[T](e)) }

func (d *droppedItems[T]) keep() {
	if items := d.items; len(items) > 0 {
		d.items = nil
		d.to(items)
	}
}

func (u hooks[T]) abandoning() dropping { return &droppedItems[T]{to: u.set.abandoned.add} }

// abandoned are items of waiting Drains that a ShutDown dropped.
type abandoned[T comparable] struct {
	any   atomic.Bool // whether there ever were any
	mu    sync.Mutex  // a leaf
	items []T
}

func (a *abandoned[T]) add(items []T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.any.Store(true)
	a.items = append(a.items, items...)
}

func (a *abandoned[T]) take() []T {
	a.mu.Lock()
	defer a.mu.Unlock()
	items := a.items
	a.items = nil
	return items
}

// runDelayed makes all delayed items ready. It locks each shard at least once:
// an AddAfter may have been accepted without having filed its timer yet.
func (s *Core) runDelayed() {
	defer func() { // also if the clock panics
		for sh := range s.shards.made() {
			for more := true; more; more = sh.next.Load() != never {
				s.publish(sh.expire(reading{now: never}))
			}
		}
	}()
	s.refresh()
}

func (s *Core) oweAll(begun *atomic.Bool, r effects, to *drain) {
	if !begun.CompareAndSwap(false, true) {
		return
	}
	for sh := range s.shards.made() {
		sh.lock()
		sh.owe(r, to)
		due := sh.reportsDue()
		sh.unlock()
		s.settle(due)
	}
	to.settle()
}

// discardReady lets workers learn of a shutdown at once.
func (s *Core) discardReady() {
	s.closing.discarding.Store(true)
	for sh := range s.shards.made() {
		for sh.discardSome() {
		}
	}
	s.wake() // a consumer may wait for a throttled group
}

func (sh *shard) discardSome() (more bool) {
	var ids [stepsPerHold]uint32
	n := 0
	sh.lock()
	if sh.table != nil {
		sh.line.Walk(&sh.table.Table, func(id uint32) (on bool) {
			ids[n] = id
			n++
			return n < len(ids)
		})
	}
	for _, id := range ids[:n] {
		sh.discard(id, sh.table.At(id))
	}
	due := sh.reportsDue()
	sh.unlock()
	sh.set.settle(due)
	sh.set.notify()
	return n == len(ids)
}

func (sh *shard) discard(id uint32, e *items.Entry) {
	what := e.Step(items.Canceled)
	sh.leftLine(id, e)
	sh.table.times.onCancel(id, what)
	sh.rare.dropped++
	if what == items.Withdraw {
		sh.pull(id, e)
		sh.forget(id, e, items.Position{})
	}
}
