// Package worker runs handlers over anything that hands out items: a queue of
// package shardq, a coalescer of package coalesce, or a [Source] of your own.
//
// A [Pool] has a number of workers. Each one claims an item, calls the handler,
// and ends the claim as the handler's error says:
//
//	pool, err := worker.New(queue, worker.Options[string]{
//		Workers: 8,
//		Handle: func(ctx context.Context, key string) error {
//			return reconcile(ctx, key)
//		},
//	})
//	if err != nil {
//		return err
//	}
//	return pool.Run(ctx)
//
// A handler returns nil if the item succeeded, [RequeueAfter] if it did not fail
// and runs again after a delay, and [Permanent] to have it discarded. Any other
// error, a panic, or a runtime.Goexit is a failure: the item runs again after
// the backoff of the source's limiter, or later with a [RetryAfter], until
// [Options].MaxAttempts.
//
// When the context of [Pool.Run] ends, the workers leave. With [Options].Drain,
// they first finish what is queued.
package worker
