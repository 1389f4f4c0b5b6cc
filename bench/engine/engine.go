// Package engine provides the two engines of this module for package workload:
// shardq's queue, and the heap design with which it is compared.
package engine

import (
	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/shard"
)

// Shardq returns the engine of shardq's queues with a number of shards.
func Shardq[T comparable](shards int) workload.Engine[T] {
	return of("shardq", shards, func(q *shardq.Queue[T]) workload.Queue[T] { return WithBatches[T]{q} })
}

// Claims returns the engine of shardq's queues whose consumers use claims.
func Claims[T comparable](shards int) workload.Engine[T] {
	return of("claims", shards, func(q *shardq.Queue[T]) workload.Queue[T] { return WithClaims[T]{WithBatches[T]{q}} })
}

// of returns an engine that drives shardq's queues in some way.
func of[T comparable](name string, shards int, drive func(*shardq.Queue[T]) workload.Queue[T]) workload.Engine[T] {
	return workload.Engine[T]{
		Name:   name,
		Shards: shards,
		New: func() workload.Queue[T] {
			return drive(shardq.MustNew(shardq.Options[T]{Shards: shards}))
		},
	}
}

// DefaultShards returns the number of shards of a queue whose options name
// none.
func DefaultShards() int { return shard.DefaultShards() }

// HeapQueue returns the engine of package heapqueue.
func HeapQueue[T comparable]() workload.Engine[T] {
	return workload.Engine[T]{
		Name:   "heapqueue",
		Shards: 1,
		New: func() workload.Queue[T] {
			return heapqueue.New(heapqueue.Options[T]{})
		},
	}
}

// Both returns shardq with its default number of shards and with one, and the
// heap design.
func Both[T comparable]() []workload.Engine[T] {
	return []workload.Engine[T]{
		Shardq[T](DefaultShards()), Shardq[T](1), HeapQueue[T](),
	}
}
