package main

import (
	"context"

	"github.com/shardq/shardq"
)

// coalescer has the methods of a Coalescer that a round uses.
type coalescer interface {
	Put(key int, v value) error
	TryPut(key int, v value) error
	PutContext(ctx context.Context, key int, v value) error
	TakeBatch(ctx context.Context, dst []pair) (int, error)
	Take(ctx context.Context) (int, value, error)
	Done(key int)
	DoneBatch(taken []pair)
	PutBack(key int, v value) error
	Retry(key int, v value) error
	ShutDown()
	Drain(ctx context.Context, options shardq.DrainOptions) ([]pair, error)
	Stats() shardq.Stats
	NewWorkers(o shardq.WorkerOptions[pair]) (*shardq.Workers[pair], error)
}

type withWorkers struct{ *shardq.Coalescer[int, value] }

func (c withWorkers) NewWorkers(o shardq.WorkerOptions[pair]) (*shardq.Workers[pair], error) {
	return shardq.NewCoalescerWorkers(c.Coalescer, o)
}

func newCoalescer(o shardq.CoalescerOptions[int, value]) target {
	return withWorkers{shardq.MustCoalescer(o)}
}
