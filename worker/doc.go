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
// # What a handler returns
//
//   - nil: the item succeeded. Its failures are forgotten.
//   - [RequeueAfter]: the item did not fail, and runs again after a delay.
//   - [Permanent]: the item failed, and is discarded.
//   - any other error, a panic, or a runtime.Goexit: the item failed. It runs
//     again after the backoff of the source's limiter, until
//     [Options].MaxAttempts attempts have failed. Then it is discarded.
//
// # Ending
//
// When the context of [Pool.Run] ends, the handlers' contexts end, and the
// workers leave. What is queued stays queued. With [Options].Drain, the workers
// first finish what is queued, for at most [Options].DrainTimeout.
package worker
