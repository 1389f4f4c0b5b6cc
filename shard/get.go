package shard

import (
	"context"
	"errors"
)

// Get returns the next ready item and takes it into processing: until its Done, no
// other Get returns it. It blocks while nothing is ready. After a shutdown it
// returns what is still ready, and otherwise the zero T and true, at once.
func (s *Set[T]) Get() (item T, shutdown bool) {
	if item, ok := s.take(); ok {
		return item, false
	}
	item, shutdown, _ = s.await(nil)
	return item, shutdown
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
	if item, ok := s.take(); ok {
		return item, nil
	}
	item, shutdown, canceled := s.await(ctx.Done())
	switch {
	case shutdown:
		return item, ErrShutDown
	case canceled:
		return item, ctx.Err()
	}
	return item, nil
}

// take hands out an item if one is ready.
func (s *Set[T]) take() (item T, ok bool) {
	if len(s.shards) == 1 {
		s.shards[0].mu.Lock()
		return s.shards[0].takeLocked()
	}
	lane := s.lane()
	for {
		sh := s.lockReady(lane.turn.Load())
		if sh == nil {
			return item, false
		}
		if sh.served++; sh.served%quantum == 0 {
			lane.turn.Store((sh.number + 1) % uint32(len(s.shards)))
		}
		if item, ok = sh.takeLocked(); ok {
			return item, true
		}
		// Another consumer emptied the shard between our look and its lock.
	}
}

// takeLocked hands out the item at the head of the FIFO, and unlocks.
func (sh *shard[T]) takeLocked() (item T, ok bool) {
	id, e := sh.pop()
	if id == 0 {
		sh.mu.Unlock()
		return item, false
	}
	e.step(taken)
	item = e.item
	sh.processing++
	sh.fruitless = 0
	sh.mu.Unlock()
	return item, true
}
