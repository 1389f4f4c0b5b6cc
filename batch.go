package shardq

import (
	"context"
	"iter"
	"time"

	"github.com/shardq/shardq/shard"
)

// AddBatch is [Queue.Add] of each of the items. Those that share a shard become
// ready in their order. It costs less than as many calls: it takes the lock of
// a shard once for all of the shard's items, and wakes one consumer, which
// wakes others as there is work. A batch of more than 64 items is added in
// parts of 64, so that other calls get their turns.
//
// AddBatch does not keep the slice. If an item's dynamic value cannot be
// compared, it panics. Some of the items before it may have been added.
func (q *Queue[T]) AddBatch(items []T) { q.shards.AddBatch(items) }

// AddBatchAfter is [Queue.AddAfter] of each of the items. It costs less than as
// many calls: it reads the clock once for 64 items, and takes the lock of a
// shard once for all of the shard's items.
//
// AddBatchAfter does not keep the slice. If an item's dynamic value cannot be
// compared, it panics. Some of the items before it may have been added.
func (q *Queue[T]) AddBatchAfter(items []T, duration time.Duration) {
	q.AddBatchWith(items, AddOptions{After: duration})
}

// AddBatchWith is [Queue.AddWith] of each of the items, with the same options.
// It costs less than as many calls, as [Queue.AddBatchAfter] does. The cost is
// that of the single calls if RateLimited or NotAgainWithin is set: each item
// then has a delay or a window of its own.
//
// AddBatchWith does not keep the slice. If an item's dynamic value cannot be
// compared, it panics. Some of the items before it may have been added. An
// unknown policy panics before any item is added.
func (q *Queue[T]) AddBatchWith(items []T, options AddOptions) {
	delay := options.delay()
	if !options.RateLimited {
		q.shards.AddBatchWith(items, delay)
		return
	}
	for _, item := range items {
		q.AddWith(item, options)
	}
}

// GetBatch is [Queue.GetContext] for up to len(dst) items. It blocks until an
// item is ready, takes what is ready then, and returns how many items it took.
// They come in the order in which single Gets would return them. Each needs a
// Done, or a place in a [Queue.DoneBatch].
//
// With an error n is 0. If dst is empty, GetBatch returns 0 at once.
func (q *Queue[T]) GetBatch(ctx context.Context, dst []T) (n int, err error) {
	return q.shards.GetBatch(ctx, dst)
}

// DoneBatch is [Queue.Done] of each of the items. They need not have come from
// one GetBatch. It costs less than as many calls, as [Queue.AddBatch] does.
func (q *Queue[T]) DoneBatch(items []T) { q.shards.DoneBatch(items) }

// Items returns an iterator over the items that [Queue.GetContext] returns. The
// iterator calls Done for each item when the loop's body ends, also by break,
// return, a panic or runtime.Goexit. It ends when the queue is shut down and
// nothing is ready, or when ctx has ended. ctx.Err() tells which.
//
//	for item := range q.Items(ctx) {
//		process(item)
//	}
//
// Several goroutines may iterate at once. Each item goes to one of them.
func (q *Queue[T]) Items(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for more := true; more; {
			item, _, at, err := q.shards.Take(ctx)
			if err != nil {
				return
			}
			more = q.yield(item, at, yield)
		}
	}
}

// yield runs the body of the loop. It ends the processing by the handle,
// because Done would call Hash, which may panic, and the item would stay in
// processing.
func (q *Queue[T]) yield(item T, at shard.Handle, body func(T) bool) (more bool) {
	defer q.shards.DoneAt(item, at)
	return body(item)
}
