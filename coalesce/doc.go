// Package coalesce implements a work queue of keys with values. A [Coalescer]
// merges the values that are put for one key, and a worker takes the key with
// one value for all of them. So a million events of a thousand keys become a
// thousand values.
//
//	views := coalesce.MustNew(coalesce.Options[string, int]{
//		Merge: func(pending, next int) int { return pending + next },
//	})
//
//	// any number of producers
//	err := views.Put("home", 1)
//
//	// any number of workers
//	write := func(ctx context.Context, page string, count int) error { … }
//	err = views.Run(ctx, 8, write)
//
// The keys are the items of a [shardq.Queue], with its states, order, groups,
// limiter, metrics and log: see [Options].Queue.
//
// # What it promises
//
//   - No value is lost, and none is processed twice. Every accepted value is
//     part of exactly one value that a Take or a drain returns.
//   - The values of a key merge in the order of the Puts, if one returned
//     before the next began.
//   - No two workers have the same key at once. A value that is put while a
//     worker has its key stays pending until that processing has ended.
//
// They hold through retries, shutdowns, and panics of the user's code.
// docs/reference/semantics.md in the repository has the details.
//
// # Workers
//
// [Coalescer.Run] is the short form above. A Coalescer is also a
// [worker.Source] of entries, so that [worker.New] has the long form, with
// batches, hooks and a drain. In a loop of your own, call one of
// [Coalescer.Done], [Coalescer.Retry] and [Coalescer.PutBack] for each key that
// [Coalescer.Take] returns, or end its [worker.Claim].
//
// # Merging
//
// Merge and Weight run in the goroutine of the call that needs them, with no
// lock held, so they may use the Coalescer. No call waits for the Merge of
// another one: a Take leaves a value that a Put is merging, and those after it,
// to a later Take.
//
// A panic of Merge or Weight reaches the caller. The value of that Put was not
// accepted, and a Take has taken nothing. Later Takes return the two values one
// after the other.
//
// # Shutdown
//
// After [Coalescer.ShutDown], puts return [shardq.ErrShutDown]. Pending values
// are still handed out, and keys in a backoff become ready at once. Retry and
// PutBack refuse values, which their callers still have. So nothing is dropped.
// [Coalescer.Drain] also waits until workers have ended all keys.
//
// All methods are safe for concurrent use.
package coalesce
