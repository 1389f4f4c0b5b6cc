package shardq

import (
	"context"
	"iter"

	"github.com/shardq/shardq/shard"
)

// Items returns an iterator over the items that [Queue.GetContext] returns, in a loop that
// owes no Done: each item is Done when its turn of the loop ends, also if the turn ends
// with break, return, a panic or runtime.Goexit. It ends when the queue is shut down and
// nothing is ready, or ctx has ended: ctx.Err() tells which.
//
//	for item := range q.Items(ctx) {
//		process(item)
//	}
//
// Any number of goroutines may range over iterators of one queue: each item goes to one
// of them.
func (q *Queue[T]) Items(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for more := true; more; {
			item, _, at, err := q.shards.Take(ctx)
			if err != nil {
				return
			}
			more = q.turn(item, at, yield)
		}
	}
}

// turn is a turn of the loop. Its end calls no Hash, which might panic: the loop owes
// no Done.
func (q *Queue[T]) turn(item T, at shard.Handle, yield func(T) bool) (more bool) {
	defer q.shards.DoneAt(item, at)
	return yield(item)
}
