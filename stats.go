package shardq

import (
	"iter"

	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

// Stats is a reading of a queue's state and counters: see [Queue.Stats]. Its
// String is a line such as "3 ready, 2 in flight, 97 delayed, 25,565 done".
type Stats = stats.Stats

// A Snapshot describes a queue and some of its items: see [Queue.Snapshot].
type Snapshot[T comparable] = stats.Snapshot[T]

// An Inspector is a queue of items of any type, as a page, an exporter or a log
// sees it. [Queue] and coalesce.Coalescer are Inspectors.
type Inspector = stats.Inspector

// Stats returns a reading of the queue's state and counters. Every shard's part
// is consistent in itself, the sum only if the queue is at rest. The cost grows
// with the number of shards, not with that of items, groups or priorities.
func (q *Queue[T]) Stats() Stats { return q.complete(q.set().Stats()) }

// complete adds to a reading of the shards what they do not know.
func (q *Queue[T]) complete(st Stats) Stats {
	st.Workers, st.Limited = q.slots.open(), -1
	if census, ok := q.limiter.(limiter.Census[T]); ok {
		st.Limited = census.Len()
	}
	st.Outages, st.OutageFailures = q.outcomes.outage.read()
	if st.Metrics != nil {
		q.outcomes.attempts.AddTo(&st.Metrics.Attempts)
	}
	if q.values != nil {
		st.Values = q.values()
		st.Values.Lingering = min(st.Values.Lingering, st.Delayed)
	}
	return st
}

// Snapshot returns a description of the queue with at most limit items of each
// state. Without [Options].Ages, the choice among many is random. It goes from
// shard to shard. A shard with at most 256 items of each state is shown as it
// is at one moment. A larger one is read in several steps, which miss no item
// that stays in its state, and return none twice.
func (q *Queue[T]) Snapshot(limit int) Snapshot[T] {
	q.mustBeMade()
	now := q.clock.Now()
	s := q.shards.Inspect(limit)
	s.Time, s.Stats = now, q.complete(s.Stats)
	q.slots.label(s.Processing)
	for _, rows := range [...][]stats.Item[T]{s.Processing, s.Ready, s.Delayed} {
		q.countAttempts(rows)
	}
	return s
}

// countAttempts fills in what the limiter knows of the items.
func (q *Queue[T]) countAttempts(rows []stats.Item[T]) []stats.Item[T] {
	for i := range rows {
		rows[i].Attempts = q.limiter.NumRequeues(rows[i].Item)
	}
	return rows
}

// All returns an iterator over all items in a state. It goes from shard to
// shard, and copies the items of one before it yields them. No lock is held
// while the loop runs. An item that enters or leaves the state meanwhile may be
// missing. None comes twice.
//
// Within a shard, ready items come in the order in which they will be handed
// out, with groups one group after another. With [Options].Ages, items in
// processing come the longest first. Delayed items come in the order of their
// deadlines.
func (q *Queue[T]) All(state stats.State) iter.Seq[stats.Item[T]] {
	q.mustBeMade()
	return func(yield func(stats.Item[T]) bool) {
		for i := range q.shards.Items(state) {
			i.Attempts = q.limiter.NumRequeues(i.Item)
			if !yield(i) {
				return
			}
		}
	}
}

// Lookup returns what the queue knows of an item, and whether it holds it. An
// item in processing that is delayed as well has a Deadline. Lookup takes
// constant time.
func (q *Queue[T]) Lookup(item T) (found stats.Item[T], ok bool) {
	if found, ok = q.set().Lookup(item); ok {
		found.Attempts = q.limiter.NumRequeues(item)
	}
	return found, ok
}
