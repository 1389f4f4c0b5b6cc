package coalesce

import (
	"context"

	"github.com/shardq/shardq/worker"
)

// Run processes the pending values in that many workers. It blocks until ctx
// ends, or until the coalescer is shut down and nothing is ready except what is
// paused, and then until all workers have finished. Then it returns nil. What
// is paused at a [Coalescer.ShutDown] stays pending, and nothing reports it.
//
// One worker at a time calls handle for any one key. The error of handle says
// what happens to the value:
//
//   - nil: it succeeded, as by [Coalescer.Done];
//   - [worker.RequeueAfter]: it did not fail. It goes back, before the values
//     that were put for the key since, and the key is ready again after a
//     delay;
//   - [worker.Permanent]: it failed, and is discarded;
//   - any other error, a panic, or a runtime.Goexit: it failed, and goes back,
//     as by [Coalescer.Retry].
//
// The value that goes back is the one that handle got. If it has a pointer, a
// slice or a map, and handle has changed what that refers to, the next attempt
// or the next Merge finds it changed.
//
// The middleware wraps handle. The first is the outermost.
//
// Run returns an error at once if workers is less than 1, or handle or a
// middleware is nil. Without middleware it allocates nothing for each key. It
// is [worker.New] with Workers, Handle and Use alone. So a value that fails
// after a shutdown has begun is dropped, and nothing reports a discarded value.
// To keep both, use worker.New with an OnDiscard.
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
