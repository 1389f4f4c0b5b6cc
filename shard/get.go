package shard

import (
	"context"

	"github.com/shardq/shardq/internal/sentinel"
)

// Get takes the next ready item into processing, and blocks until there is one.
// It returns true after a shutdown, once nothing is ready.
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

// GetContext is Get that ends with ctx. With an error, no item was taken.
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
