package shard

import (
	"context"
	"errors"
	"math"
)

// Get returns the next ready item and takes it into processing: until its Done, no
// other Get returns it. It blocks while nothing is ready. After a shutdown it
// returns what is still ready, and otherwise the zero T and true, at once.
func (s *Set[T]) Get() (item T, shutdown bool) {
	if item, _, _, ok := s.TryTake(); ok {
		return item, false
	}
	var one [1]T
	_, shutdown, _ = s.await(nil, hand[T]{items: one[:]})
	return one[0], shutdown
}

// ErrShutDown is what [Set.GetContext] returns where [Set.Get] says true.
var ErrShutDown = errors.New("shardq: queue is shut down")

// GetContext is Get for as long as ctx lasts: once that ended, it takes nothing and
// returns the context's error. If the end of ctx meets an item, GetContext returns
// either the item or the error, and in the latter case the item stays ready.
func (s *Set[T]) GetContext(ctx context.Context) (item T, err error) {
	if err := ctx.Err(); err != nil {
		return item, err
	}
	if item, _, _, ok := s.TryTake(); ok {
		return item, nil
	}
	var one [1]T
	_, err = s.awaitContext(ctx, hand[T]{items: one[:]})
	return one[0], err
}

// awaitContext is await in the terms of a context.
func (s *Set[T]) awaitContext(ctx context.Context, h hand[T]) (n int, err error) {
	n, shutdown, canceled := s.await(ctx.Done(), h)
	switch {
	case shutdown:
		return 0, ErrShutDown
	case canceled:
		return 0, ctx.Err()
	}
	return n, nil
}

// take hands out an item, with its priority and its Handle, if one is ready.
func (s *Set[T]) take() (item T, priority int, h Handle, ok bool) {
	s.refreshForWork()
	return s.takeNow()
}

// takeNow is take without a look at the clock, so it calls no user code.
func (s *Set[T]) takeNow() (item T, priority int, h Handle, ok bool) {
	if s.group != nil {
		return s.takeFairly()
	}
	if len(s.shards) == 1 {
		sh := &s.shards[0]
		sh.mu.Lock()
		item, priority, h, ok = sh.take(&sh.ready, false)
		sh.mu.Unlock()
		return item, priority, h, ok
	}
	lane := s.lane()
	if u := s.urgency.Load(); u != nil {
		return s.takeByPriority(u, lane)
	}
	for {
		sh := s.lockReady(lane.turn.Load())
		if sh == nil {
			return item, 0, Handle{}, false
		}
		if sh.served++; sh.served%quantum == 0 {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		item, priority, h, ok = sh.take(&sh.ready, false)
		sh.mu.Unlock()
		if ok {
			return item, priority, h, true
		}
		// Another consumer emptied the shard between our look and its lock.
	}
}

// take takes the next entry of a run queue into processing, and returns its item,
// its priority and its Handle, if anything is ready. With passedOver, the entry is
// of the level that was passed over longest.
func (sh *shard[T]) take(q *runQueue[T], passedOver bool) (item T, priority int, h Handle, ok bool) {
	if q.isEmpty() {
		return item, 0, h, false
	}
	var id uint32
	var e *entry[T]
	if q.levels == nil {
		id, e = q.pop(sh.table) // which is inlined, and take is not
	} else {
		id, e, priority = q.take(sh.table, passedOver)
	}
	sh.pulled(q, id, q.isEmpty())
	q.processing++
	sh.fruitless = 0
	fence := sh.fence()
	e.step(taken)
	e.fence = uint32(fence)
	if fence > math.MaxUint32 {
		sh.table.setUpperFence(id, uint32(fence>>32))
	}
	if sh.set.ages {
		sh.noteBegin(id, e)
	}
	return e.item, priority, Handle{fence, id, sh.number}, true
}
