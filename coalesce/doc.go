// Package coalesce implements a work queue of keys with values. A [Coalescer]
// merges the values that are put for one key. A worker takes the key together
// with one value for all of them, so a million events of a thousand keys become
// a thousand values.
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
// docs/reference/semantics.md in the repository states them clause by clause,
// each with the tests that check it.
//
// # Running workers
//
// [Coalescer.Run] is the short form above: a value that failed goes back, and
// is tried again after a backoff. A Coalescer is also a [worker.Source] of
// entries, so package worker has the long form:
//
//	pool, err := worker.New(views, worker.Options[coalesce.Entry[string, int]]{
//		Workers: 8,
//		Handle: func(ctx context.Context, e coalesce.Entry[string, int]) error {
//			return write(ctx, e.Key, e.Value)
//		},
//		MaxAttempts: 5,
//		OnDiscard:   report,
//		Drain:       views.DrainWith(shardq.DrainOptions{}),
//	})
//
// # A loop of your own
//
// A worker that takes a key must call one of [Coalescer.Done],
// [Coalescer.Retry] and [Coalescer.PutBack] for it:
//
//	for {
//		key, count, err := views.Take(ctx)
//		if err != nil {
//			return
//		}
//		if write(ctx, key, count) == nil {
//			views.Done(key)
//		} else if views.Retry(key, count) != nil { // shutting down
//			keep(key, count)
//			views.Done(key)
//		}
//	}
//
// [Coalescer.TakeBatch] and [Coalescer.DoneBatch] are for many keys in one
// call. [Coalescer.Claim] returns the key with its value as a [worker.Claim],
// which ends once.
//
// # Merging
//
// Merge and Weight run in the goroutine of the call that needs them, with no
// lock held, so they may use the Coalescer. No call waits for the Merge of
// another one. A value that is put during a merge is buffered, and a later call
// merges it. A Take leaves a value that a Put is merging, and those after it,
// to a later Take.
//
// A panic of Merge or Weight reaches the caller. If a Put panics in this way,
// its value was not accepted, and the pending value is as Merge has left it. If
// a Take does, nothing was taken. Later Takes return the two values one after
// the other, because no call merges them again.
//
// # Values that go back
//
// Retry and PutBack put a value before those that were put for its key since
// the Take. Retry delays the key by the backoff of the queue's limiter, and its
// pending values with it. With [Options].PutEndsBackoff a Put ends that delay.
//
// # Waiting for more values
//
// With [Options].Linger, a key waits for more values before it is ready.
// [Coalescer.PutWith] has a delay, a policy for several delays (debounce) and a
// priority for one value. [Coalescer.Cancel] takes the pending value back.
//
// # Reading values
//
// With [Options].Readable, [Coalescer.Peek] and [Coalescer.Range] read the
// values that no worker has processed yet. So a write-behind cache reads its
// own writes.
//
// # Capacity
//
// [Options].Capacity limits the keys with a pending value or, with
// [Options].Weight, the total weight of the pending values. [Coalescer.TryPut]
// refuses values beyond it, and [Coalescer.PutContext] blocks until there is
// room. [Coalescer.Put] ignores it. Values that workers have do not count.
//
// # Shutdown
//
// After [Coalescer.ShutDown], puts return [shardq.ErrShutDown]. Pending values
// are still handed out, and keys in a backoff become ready at once. Retry and
// PutBack refuse values, which their callers still have. So nothing is dropped.
//
// [Coalescer.Drain] also waits until workers have ended all keys. Its options
// say what happens to keys in a backoff, and whether it accepts retries. It
// returns the values that it dropped. If it ends early, its error is a
// [*DrainError], whose Left takes out the values that are left.
//
// # Concurrency and cost
//
// All methods are safe for concurrent use. [Coalescer.PutContext],
// [Coalescer.Take], [Coalescer.TakeBatch], [Coalescer.Claim],
// [Coalescer.ClaimBatch], [Coalescer.Drain], [Coalescer.WaitIdle],
// [Coalescer.Run] and [DrainError.Left] block. All others return at once, apart
// from the user's functions that they call.
//
// Memory follows the number of pending keys, and is given back after a burst.
// In steady state nothing is allocated, unless Puts of one key overlap.
// docs/reference/benchmarks.md has the cost of a value.
//
// # Inspection
//
// A Coalescer is a [shardq.Inspector], which pages and exporters show.
// [Coalescer.Queue] returns its keys, to read.
package coalesce
