// Package workload has the work of shardq's benchmarks, with one implementation
// for every queue that is measured. Engines differ only in the [Queue] that
// they make. The functions do the work and return its time. Go benchmarks and
// the report command both call them.
//
// What costs time and is not part of the queue is made beforehand: keys,
// streams of keys, delays.
package workload

import (
	"context"
	"time"
)

// A Queue has the methods that a workload uses. The method sets of client-go's
// queues, of shardq.Queue and of heapqueue.Queue contain it. ShutDown is called
// once, at the end of a workload, and must release calls of every method.
type Queue[T comparable] interface {
	Add(item T)
	Get() (item T, shutdown bool)
	Done(item T)
	Len() int
	ShutDown()
}

// A DelayingQueue is a Queue with delays.
type DelayingQueue[T comparable] interface {
	Queue[T]
	AddAfter(item T, duration time.Duration)
}

// A BatchQueue is a Queue with methods for many items in one call.
type BatchQueue[T comparable] interface {
	Queue[T]
	AddBatch(items []T)
	GetBatch(ctx context.Context, dst []T) (n int, err error)
	DoneBatch(items []T)
}

// A DelayingBatchQueue is a Queue that can add many items with a delay in one
// call.
type DelayingBatchQueue[T comparable] interface {
	DelayingQueue[T]
	AddBatchAfter(items []T, duration time.Duration)
}

// An Engine makes the queues of one kind.
type Engine[T comparable] struct {
	// Name is the engine's name in reports, such as shardq or client-go.
	Name string
	// Shards is the number of shards of its queues, or 1 if it has no shards.
	Shards int
	// MaxKeys is the largest number of keys with which the engine is measured.
	// It limits the time that a slow engine takes.
	//
	// If zero, there is no limit.
	MaxKeys int
	// New makes an empty queue.
	New func() Queue[T]
}

// Accepts reports whether the engine is measured with that number of keys.
func (e Engine[T]) Accepts(keys int) bool { return e.MaxKeys == 0 || keys <= e.MaxKeys }
