// Package coalesce implements a work queue of keys with values. A [Coalescer] merges the
// values that are put for one key, and a worker takes the key with one value for all of
// them. So a million events of a thousand keys become a thousand values.
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
// The keys are the items of a [shardq.Queue]. All methods are safe for concurrent
// use. No value is lost and none is processed twice, even when there are retries,
// shutdowns, or panics of the user's code. The values of a key merge in the order
// of the Puts. Merge and Weight run with no lock held.
//
// A [Source] puts events of a log with their offsets, and knows from which offset
// to read again after a crash.
package coalesce
