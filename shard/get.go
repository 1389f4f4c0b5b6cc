package shard

import (
	"context"

	"github.com/shardq/shardq/internal/sentinel"
)

// Get returns the next ready item and takes it into processing. Until its Done,
// no other Get returns it. Get blocks until an item is ready. After a shutdown
// it returns the items that are still ready, and then the zero T and true,
// without blocking.
func (s *Set[T]) Get() (item T, shutdown bool) {
	if item, _, _, ok := s.TryTake(); ok {
		return item, false
	}
	var one [1]T
	_, shutdown, _ = s.await(nil, buffers[T]{items: one[:]})
	return one[0], shutdown
}

// ErrShutDown is the error of [Set.GetContext] where [Set.Get] returns true.
var ErrShutDown = sentinel.ErrShutDown

// GetContext returns the next ready item as [Set.Get] does. It blocks until an
// item is ready or ctx ends. Once ctx has ended, it takes nothing and returns
// the error of ctx. If ctx ends while an item becomes ready, GetContext returns
// either of the two. If it returns the error, the item stays ready.
func (s *Set[T]) GetContext(ctx context.Context) (item T, err error) {
	if err := ctx.Err(); err != nil {
		return item, err
	}
	if item, _, _, ok := s.TryTake(); ok {
		return item, nil
	}
	var one [1]T
	_, err = s.awaitContext(ctx, buffers[T]{items: one[:]})
	return one[0], err
}

// awaitContext is await with a context.
func (s *Set[T]) awaitContext(ctx context.Context, b buffers[T]) (n int, err error) {
	n, shutdown, canceled := s.await(ctx.Done(), b)
	switch {
	case shutdown:
		return 0, ErrShutDown
	case canceled:
		return 0, ctx.Err()
	}
	return n, nil
}
