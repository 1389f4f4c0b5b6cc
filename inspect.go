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
	// first, and of those that wait the next to be ready first. Of those that are
	// ready, without groups, each shard's next are looked at, up to 256: where there
	// are priorities, the longest may be behind them.
	Processing, Ready, Waiting []ItemInfo[T]
}

// Snapshot looks into the queue, and returns at most limit items of each state. Without
// [Options].Ages, which ones it returns of those ready or in processing is chance, except
// that without groups the first of each shard's ready items are among them.
//
// It goes from shard to shard, and visits at most 256 items of each state in one hold of
// a shard's lock. What it says of a shard is of one moment if the shard has at most 256
// items of each state. In a larger shard that is still so if limit is at most 256, but
// not where it has to search: for ready items if there are groups, for waiting ones if
// very many wait for about as long as the next, and for those in processing without
// Ages. Then it reads all entries of the shard after the Stats, in holds of 256: an
// item that stays in its state is not missed, none is returned twice, and one that
// changes its state may be missed.
//
// The memory grows with what it returns, up to some 2 KB for each item. The time grows
// with limit and the number of shards, and where it has to search with the number of
// items. No lock is held when it returns.
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
// copies the items of one before it yields them. No lock is held while the loop looks at
// them.
//
// It visits at most 256 items in one hold of a shard's lock. So what it shows of a shard
// with at most 256 items in the state is of one moment. Of a larger shard it shows each
// item that stays in the state while it is copied, and none twice; an item that comes or
// goes meanwhile may be shown or not.
//
// Within a shard, ready items come in the order in which they will be handed out (where
// there are groups, the items of one after those of another), as far as they keep their
// places while they are copied; those in processing the longest first, with
// [Options].Ages; and those that wait in the order of their deadlines.
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
// [Options].Group. It goes from shard to shard, and copies at most 256 groups in one hold
// of a shard's lock; no lock is held while the loop looks at them. It shows each group
// that has items all the while, and none twice. A group that gets its first item after
// Groups has come to its shard is not shown.
func (q *Queue[T]) Groups() iter.Seq[GroupInfo] { return q.shards.Groups() }
