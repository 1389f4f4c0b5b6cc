package workload

import "context"

// A TurnQueue takes items and ends them in another way than by Get and Done,
// such as by claims. Workloads then use that way.
type TurnQueue[T comparable] interface {
	Queue[T]
	// Turn takes an item and ends it, or reports that the queue is shut down.
	Turn() (item T, shutdown bool)
	// Batches returns a function for one consumer, which takes and ends the
	// ready items, at least one, and at most len(dst).
	Batches() func(ctx context.Context, dst []T) (n int, err error)
}

// turnOf returns a function that takes an item and ends it.
func turnOf[T comparable](q Queue[T]) func() (item T, shutdown bool) {
	if t, ok := q.(TurnQueue[T]); ok {
		return t.Turn
	}
	return func() (item T, shutdown bool) {
		if item, shutdown = q.Get(); !shutdown {
			q.Done(item)
		}
		return item, shutdown
	}
}

// turnBatchOf is turnOf for batches.
func turnBatchOf[T comparable](q BatchQueue[T]) func(ctx context.Context, dst []T) (n int, err error) {
	if t, ok := q.(TurnQueue[T]); ok {
		return t.Batches()
	}
	return func(ctx context.Context, dst []T) (n int, err error) {
		if n, err = q.GetBatch(ctx, dst); err == nil {
			q.DoneBatch(dst[:n])
		}
		return n, err
	}
}
