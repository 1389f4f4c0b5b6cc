package shard

import (
	"context"

	"github.com/shardq/shardq/shard/internal/items"
)

// Take takes the next ready item into processing, with its priority. It blocks
// until there is one, or ctx ends. With an error, no item was taken.
func (s *Set[T]) Take(ctx context.Context) (item T, priority int, h Handle, err error) {
	if err := ctx.Err(); err != nil {
		return item, 0, Handle{}, err
	}
	if item, priority, h, ok := s.TryTake(); ok {
		return item, priority, h, nil
	}
	return s.awaitOne(ctx)
}

// awaitOne is not in Take, because its closure would put the results on the
// heap.
func (s *Set[T]) awaitOne(ctx context.Context) (item T, priority int, h Handle, err error) {
	_, err = s.Core.awaitContext(ctx, 1, func(e *items.Entry, its int, handle Handle) {
		item, priority, h = *items.Of[T](e), its, handle
	})
	return item, priority, h, err
}

// TryTake is [Set.Take] without blocking.
func (s *Set[T]) TryTake() (item T, priority int, h Handle, ok bool) {
	if s.Core.gate.cares.Load() != 0 {
		return s.tryTakeWithCare()
	}
	return s.takeNow(0)
}

func (s *Set[T]) tryTakeWithCare() (item T, priority int, h Handle, ok bool) {
	if s.Core.config.Ages {
		s.Core.refreshForWork()
	}
	now := s.Core.gate.readForTake()
	if s.Core.gate.cares.Load()&caresForGate != 0 {
		return s.takeOneThroughGate(now)
	}
	if item, priority, h, ok = s.takeNow(now); ok {
		s.Core.watchdog.begin()
	}
	return item, priority, h, ok
}

func (s *Set[T]) takeOneThroughGate(now uint64) (item T, priority int, h Handle, ok bool) {
	ok = s.Core.takeThroughGate(1, func(e *items.Entry, its int, handle Handle) {
		item, priority, h = *items.Of[T](e), its, handle
	}, now) > 0
	if ok {
		s.Core.watchdog.begin()
	}
	return item, priority, h, ok
}

// takeNow calls no user code but the clock. now is the time, if groups have rates.
func (s *Set[T]) takeNow(now uint64) (item T, priority int, h Handle, ok bool) {
	sh, e, priority, h := s.Core.takeAndLock(s.Core.shards.laneIfMany(), now)
	if e == nil {
		return item, 0, h, false
	}
	item = *items.Of[T](e)
	if sh.owes == 0 { // as unlockTaken, but without the call
		sh.unlock()
	} else {
		sh.unlockTaken()
	}
	return item, priority, h, true
}

// TakeBatch takes as many ready items as dst has room for. It blocks as
// [Set.Take] does. The other slices are as long as dst, or nil.
func (s *Set[T]) TakeBatch(ctx context.Context, dst []T, priorities []int, handles []Handle) (n int, err error) {
	b := buffers[T]{items: dst, priorities: priorities, handles: handles}
	if err := ctx.Err(); err != nil || len(dst) == 0 {
		return 0, err
	}
	return s.Core.awaitContext(ctx, len(dst), b.put)
}

// TakeMore takes as many more ready items as dst has room for, after another
// take. It does not block, and calls no user code but the clock.
func (s *Set[T]) TakeMore(dst []T, priorities []int, handles []Handle) (n int) {
	b := buffers[T]{items: dst, priorities: priorities, handles: handles}
	return s.Core.takeHere(len(dst), b.put, s.Core.gate.last.Load())
}

// Get takes the next ready item into processing, and blocks until there is one.
func (s *Set[T]) Get() (item T, shutdown bool) {
	if item, _, _, ok := s.TryTake(); ok {
		return item, false
	}
	item, _, _, err := s.awaitOne(context.Background())
	return item, err != nil
}

func (s *Core) awaitContext(ctx context.Context, most int, put receiver) (n int, err error) {
	n, shutdown, canceled := s.await(ctx, most, put)
	switch {
	case shutdown:
		return 0, ErrShutDown
	case canceled:
		return 0, ctx.Err()
	}
	return n, nil
}

// buffers has room for items. priorities and handles may be nil.
type buffers[T comparable] struct {
	items      []T
	priorities []int
	handles    []Handle
	n          int
}

func (b *buffers[T]) put(e *items.Entry, priority int, handle Handle) {
	b.items[b.n] = *items.Of[T](e)
	if b.priorities != nil {
		b.priorities[b.n] = priority
	}
	if b.handles != nil {
		b.handles[b.n] = handle
	}
	b.n++
}
