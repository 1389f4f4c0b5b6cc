package shard

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A drain waits until all shards have reached a state that they do not leave
// again. So each shard reports once, and the last report ends the wait.
type drain struct {
	begun   atomic.Bool                   // see begin
	owing   atomic.Int32                  // reports, and one until all shards were inspected
	done    chan struct{}                 // closed when owing reaches 0
	current atomic.Pointer[chan struct{}] // closed and replaced by each ShutDown
}

// drains has a drain for each state of a set that callers wait for.
type drains struct {
	drained    drain
	delaysDone drain // no item is delayed, once a Drain has asked for that
	emptied    drain // the set is empty, once a Drain that accepts retries has asked
	idled      drain // a shard became empty that a WaitIdle has checked
	stilled    drain // a shard came to a halt, or what can be handed out has changed
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

func (sh *shard) quiet() bool { return sh.line.Depth() == 0 && sh.line.Processing() == 0 }

func (sh *shard) isEmpty() bool { return sh.table == nil || sh.table.Live == 0 }

// reportsDue returns reports, to be passed to settle once the lock is released.
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

// mayBeStill is asked at the end of each hold of a shard that owes a report.
func (sh *shard) mayBeStill() bool {
	return sh.line.Processing() == 0 &&
		(!sh.line.CanTake() || sh.set.gate.used.Load() || sh.set.config.Rules.DrainProcessingOnly)
}

// closing has the steps of a shutdown, on which adds, delays and Gets depend.
type closing struct {
	refusing atomic.Bool // set first; adds read it under their shard's lock, and drop their items
	ending   context.Context
	end      context.CancelFunc // ends ending, once refusing is set
	retries  Retries            // whether adds of items in processing are accepted; decided before refusing is set
	// begun is set next, unless a Drain awaits the delayed items. From then on,
	// these are dropped, and the driver stops.
	begun      atomic.Bool
	leaving    atomic.Bool // set by ShutDown, but not by drains: see mayLeave
	discarding atomic.Bool // ShutDown drops what is ready, and no Done makes its item ready
	// complete is set after every shard was locked once since begun was set, so
	// that all adds that were not dropped have finished. A consumer that reads
	// it, and then finds nothing ready, may leave. With one flag, an Add in
	// flight could make an item ready after the last consumer left.
	complete atomic.Bool
	untold   atomic.Uint64 // dropped adds that OnDropped was not told of
}

// Retries decides whether retries are accepted once a call that ends the queue
// has begun.
type Retries struct{ state atomic.Uint32 }

const (
	undecided       = iota // no call has begun that ends the queue
	takingRetries          // only Drains that accept retries have
	refusingRetries        // another call has
)

// Decide is called when a call that ends the queue begins. take says whether
// that call accepts retries. Once a call has refused them, they stay refused.
func (r *Retries) Decide(take bool) {
	if !take {
		r.state.Store(refusingRetries)
	} else {
		r.state.CompareAndSwap(undecided, takingRetries)
	}
}

// Taken reports whether a call that ends the queue has begun, and retries are accepted.
func (r *Retries) Taken() bool { return r.state.Load() == takingRetries }

// TakesBack reports whether an add of an item in processing is accepted.
func (s *Core) TakesBack() bool {
	return !s.closing.refusing.Load() || s.closing.retries.Taken()
}

func (s *Core) ShuttingDown() bool { return s.closing.refusing.Load() }

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

// Two callers ask whether anything can be handed out before something happens
// outside, such as an add, a Done or a Resume: a consumer after a shutdown, to
// leave (mayLeave), and a drain with a deadline, to end. Both ask the gate. A
// consumer has no deadline and asks at each park, so it reads two counts and locks
// no shard. It waits for paused items until ShutDown is called, and leaves beside
// items in processing (C10). A drain asks each shard, and waits for no paused item.

// isStill reports whether nothing is in processing, and nothing can be handed
// out by a deadline. The clock is taken to run with real time, unless it has a
// method Step. Each shard that is not still reports when it is.
func (s *Core) isStill(deadline time.Time) bool {
	if s.time.Steps {
		return false
	}
	by := s.time.Nanoseconds() + uint64(max(0, time.Until(deadline)))
	shut := s.gate.shutUntil(by)
	all := !shut || s.gate.entered.Load() == 0 // read after the gate was, and before the shards, which a take may change
	left := false                              // if nothing is left, the last report is under way
	for sh := range s.shards.made() {
		still, empty := sh.isStill(by/s.time.Tick, shut)
		all, left = still && all, left || !empty
	}
	return all && left
}

func (d *drains) recheck(c *closing) {
	if c.refusing.Load() {
		d.stilled.release()
	}
}

func (sh *shard) isStill(until uint64, shut bool) (is, empty bool) {
	sh.lock()
	defer sh.unlock()
	sh.owes |= owed(still)
	is = sh.line.Processing() == 0 && (shut || !sh.line.CanTake() && sh.wheel.next() > until && !sh.line.Frees(until))
	return is, sh.isEmpty()
}
