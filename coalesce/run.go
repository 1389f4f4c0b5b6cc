package coalesce

import (
	"context"

	"github.com/shardq/shardq/worker"
)

// Run processes the pending values in that many workers. It blocks until ctx
// ends, or until the coalescer is shut down and nothing is ready, and then
// until all workers have finished.
//
// The error of handle says what happens to the value, as for
// [worker.Options].Handle: a value that failed goes back, as by
// [Coalescer.Retry]. It is the one that handle got, with the changes of handle
// to what it refers to.
//
// Run is [worker.New] with Workers, Handle and Use alone, and returns its
// error. So a value that fails after a shutdown has begun is dropped, and
// nothing reports a discarded value. To keep both, use worker.New with an
// OnDiscard.
func (c *Coalescer[K, V]) Run(ctx context.Context, workers int, handle func(ctx context.Context, key K, value V) error,
	use ...worker.Middleware[Entry[K, V]]) error {
	options := worker.Options[Entry[K, V]]{Workers: workers, Use: use}
	if handle != nil {
		options.Handle = func(ctx context.Context, taken Entry[K, V]) error {
			return handle(ctx, taken.Key, taken.Value)
		}
	}
	pool, err := worker.New(c, options)
	if err != nil {
		return err
	}
	return pool.Run(ctx)
}
