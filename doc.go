// Package shardq is an in-process work queue of distinct items. It has the
// methods and the contract of client-go's workqueue, on which Kubernetes
// controllers are built, and spreads the work over independent shards.
//
//	queue := shardq.MustNew(shardq.Options[string]{})
//	queue.Add("orders/17") // any number of producers
//	err := queue.Run(ctx, 8, func(ctx context.Context, key string) error {
//		return reconcile(ctx, key) // an error runs the key again, after a backoff
//	})
//
// An item that is queued is queued once, however often it is added. No two
// workers ever have the same item. An item that is added while a worker has it
// runs once more. The documentation of [Queue] is the manual.
//
// The other packages:
//
//   - Package worker has worker pools.
//   - Package coalesce has a queue of keys with values that merge.
//   - Package limiter has the rate limiters.
//   - Package clock has injected time.
//   - The packages below observe show a queue while it runs.
package shardq
