package shardq

import (
	"iter"
	"time"

	"github.com/shardq/shardq/shard"
)

// ItemInfo is what a queue knows of an item.
type ItemInfo[T comparable] = shard.Info[T]

// ItemState is where an item is: [Ready], [Processing] or [Waiting].
type ItemState = shard.State

const (
	// Ready: a Get would return the item, or will once its group is not held back any more.
	Ready = shard.Ready
	// Processing: the item was handed out, and is not Done.
	Processing = shard.Processing
	// Waiting: a delay of the item is running, and it is neither ready nor in
	// processing.
	Waiting = shard.Waiting
)

// A Snapshot is a look into a queue.
type Snapshot[T comparable] struct {
	// Time is when the look was taken.
	Time time.Time
	// Stats counts what there is.
	Stats Stats
	// Processing, Ready and Waiting are some of the items: the longest in their state
	// first, and of those that wait the next to be ready first. Of those that are ready,
	// each shard's next are looked at: where there are priorities or groups, the longest may
	// be behind them.
	Processing, Ready, Waiting []ItemInfo[T]
}

// Snapshot looks into the queue, and returns at most limit items of each state. Without
// [Options].Ages, which ones it returns of those ready or in processing is chance, but for
// the first of each shard's.
//
// It locks one shard after the other: what it says of a shard was so at one moment. The
// cost grows with limit, the number of shards, and the number of items that wait for about
// as long as the next: of a million that do so in one shard, it looks through them in some
// milliseconds, or some dozens if they were added in the reverse order of their deadlines, with the lock
// held. Without Ages it also grows with the number of items, through
// which it looks for those in processing. No lock is held when it returns.
func (q *Queue[T]) Snapshot(limit int) Snapshot[T] {
	now := q.clock.Now()
	look := q.shards.Look(limit)
	q.complete(&look.Stats)
	q.workforce.label(look.Processing)
	return Snapshot[T]{
		Time:       now,
		Stats:      look.Stats,
		Processing: q.withAttempts(look.Processing),
		Ready:      q.withAttempts(look.Ready),
		Waiting:    q.withAttempts(look.Waiting),
	}
}

func (q *Queue[T]) withAttempts(rows []ItemInfo[T]) []ItemInfo[T] {
	for i := range rows {
		rows[i].Attempts = q.limiter.NumRequeues(rows[i].Item)
	}
	return rows
}

// All returns an iterator over all items in a state. It goes from shard to shard, and
// copies the items of one while it holds the lock, which takes a good part of a second for
// a million items that wait in one shard; no lock is held while the loop looks at them. So
// what it shows of a shard was so at one moment, and an item that changes its state
// meanwhile may be shown late, but not twice.
//
// Within a shard, ready items come in the order in which they will be handed out (where
// there are groups, the items of one after those of another), those in
// processing the longest first, with [Options].Ages, and those that wait in the order of
// their deadlines.
func (q *Queue[T]) All(state ItemState) iter.Seq[ItemInfo[T]] {
	return func(yield func(ItemInfo[T]) bool) {
		for i := range q.shards.Items(state) {
			i.Attempts = q.limiter.NumRequeues(i.Item)
			if !yield(i) {
				return
			}
		}
	}
}

// TimeLeft returns how much is left of the delays that are running, to the tick, as far as they are
// shorter than twelve days; those that are overdue count as nothing left. It needs no [Options].Metrics.
//
// It takes the lock of a shard for at most 512 items at a time, about a microsecond, so that what it
// returns was not all so at one moment. Where more than 65,536 items of a shard wait, it looks at about
// that many, in parts of 512 that are chosen by chance, and takes them for all: Count is that of all there, too.
func (q *Queue[T]) TimeLeft() Histogram { return q.shards.TimeLeft() }

// GroupInfo is what a queue knows of a group of items.
type GroupInfo = shard.GroupInfo

// Groups returns an iterator over the groups that have items, in no order: see
// [Options].Group. It goes from shard to shard as [Queue.All] does, and copies all groups of
// one while it holds the lock.
func (q *Queue[T]) Groups() iter.Seq[GroupInfo] { return q.shards.Groups() }
