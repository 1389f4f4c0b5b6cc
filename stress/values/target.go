package main

import (
	"context"

	"github.com/shardq/shardq"
)

// coalescer is what a round uses of a Coalescer.
type coalescer interface {
	Put(key int, v value) error
	TryPut(key int, v value) error
	PutContext(ctx context.Context, key int, v value) error
	TakeBatch(ctx context.Context, dst []shardq.Pending[int, value]) (int, error)
	Take(ctx context.Context) (int, value, error)
	Done(key int)
	DoneBatch(taken []shardq.Pending[int, value])
	PutBack(key int, v value) error
	Retry(key int, v value) error
	ShutDown()
	Drain(ctx context.Context, options shardq.DrainOptions) ([]shardq.Pending[int, value], error)
	Stats() shardq.CoalescerStats
}

func newCoalescer(o shardq.CoalescerOptions[int, value]) target { return shardq.MustCoalescer(o) }
