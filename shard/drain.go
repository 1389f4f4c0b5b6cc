package shard

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/shardq/shardq/shard/internal/items"
)

// Released returns a channel that the next ShutDown closes.
func (s *Core) Released() <-chan struct{} { return s.drains.drained.released() }

// DrainUntil refuses adds, blocks until nothing is delayed, ready or in
// processing, and shuts down. It returns an error if ctx ends or released is
// closed first. It appends to dropped the items that it drops, and those that
// a ShutDown drops meanwhile, even if a hook panics.
func (s *Set[T]) DrainUntil(ctx context.Context, d Draining, released <-chan struct{}, dropped *[]T) error {
	drops := &droppedItems[T]{to: func(items []T) { *dropped = append(*dropped, items...) }}
	closed, cause := s.Core.drainUntil(ctx, d, released, drops, &s.abandoned.any)
	if !closed {
		*dropped = append(*dropped, s.abandoned.take()...)
	}
	*dropped = append(*dropped, s.unreturned.take()...)
	return cause
}

// drainUntil reports whether it has closed the set. If not, it ended early, or
// a ShutDown has closed the set meanwhile and abandoned the dropped items.
func (s *Core) drainUntil(
	ctx context.Context, d Draining, released <-chan struct{}, drops dropping, abandons *atomic.Bool,
) (closed bool, cause error) {
	before := abandons.Load()
	s.refuse(d.Retries)
	retries := d.Retries && s.TakesBack()
	if retries && d.Delayed == DropDelayed || d.Delayed == RunDelayed {
		s.sweep(d.Delayed, drops)
	}
	var part *drain // what to wait for before the close
	switch {
	case retries:
		part = &s.drains.emptied
		part.begin(&s.shards, empty)
	case d.Delayed == AwaitDelayed:
		part = &s.drains.delaysDone
		part.begin(&s.shards, noneDelayed)
	}
	if part != nil {
		cause = s.awaitDrain(ctx, part, released)
		if cause == nil && abandons.Load() != before {
			cause = cmp.Or(ctx.Err(), ErrShutDown)
		}
		if cause != nil {
			return false, cause
		}
	}
	s.close(drops)
	return true, s.awaitDrain(ctx, &s.drains.drained, released)
}

// ReturnLater keeps the items of a Drain that has panicked, for the next to
// return.
func (s *Set[T]) ReturnLater(dropped []T) { s.unreturned.add(dropped) }

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

// begin makes each shard owe a report.
func (d *drain) begin(s *shards, report effects) {
	if !d.begun.CompareAndSwap(false, true) {
		return
	}
	for sh := range s.made() {
		sh.lock()
		sh.owe(report, d)
		due := sh.reportsDue()
		sh.unlock()
		sh.set.settle(due)
	}
	d.settle()
}
