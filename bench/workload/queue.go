// Package workload holds the work that shardq's benchmarks give to a queue, one
// implementation for every queue that is measured: an engine differs from another
// in nothing but the [Queue] that it makes. The functions do the work and say how
// long it took; Go benchmarks and the report command both call them.
//
// Whatever costs time and is not a queue's doing is made beforehand: keys,
// streams of keys, delays.
package workload

import (
	"context"
	"time"
)

// A Queue is what a workload drives. The method sets of client-go's queues, of
// shardq.Queue and of heapqueue.Queue contain it. ShutDown is called once, at the
// end of a workload, and must release calls of every method.
type Queue[T comparable] interface {
	Add(item T)
	Get() (item T, shutdown bool)
	Done(item T)
	Len() int
	ShutDown()
}

// A DelayingQueue is a Queue that can add an item later.
type DelayingQueue[T comparable] interface {
	Queue[T]
	AddAfter(item T, duration time.Duration)
}

// A BatchQueue is a Queue that deals with many items in one call.
type BatchQueue[T comparable] interface {
	Queue[T]
	AddBatch(items []T)
	GetBatch(ctx context.Context, dst []T) (n int, err error)
	DoneBatch(items []T)
}

// A DelayingBatchQueue is a Queue that can add many items later, in one call.
type DelayingBatchQueue[T comparable] interface {
	DelayingQueue[T]
	AddBatchAfter(items []T, duration time.Duration)
}

// An Engine makes the queues of one kind.
type Engine[T comparable] struct {
	// Name is the engine's name in reports: shardq, client-go.
	Name string
	// Shards is the number of shards of its queues, 1 if it knows no shards.
	Shards int
	// MaxKeys is the largest number of keys for which the engine is measured, 0
	// if there is none. It bounds the time that a slow engine takes.
	MaxKeys int
	// New makes an empty queue.
	New func() Queue[T]
}

// Carries reports whether the engine is measured with so many keys.
func (e Engine[T]) Carries(keys int) bool { return e.MaxKeys == 0 || keys <= e.MaxKeys }
