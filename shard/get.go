package shard

import (
	"context"
	"errors"
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

// GetWithPriority is [Set.Get] that also returns the priority with which the item was ready.
func (s *Set[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	if item, priority, _, ok := s.TryTake(); ok {
		return item, priority, false
	}
	var one [1]T
	var its [1]int
	_, shutdown, _ = s.await(nil, hand[T]{items: one[:], priorities: its[:]})
	return one[0], its[0], shutdown
}
