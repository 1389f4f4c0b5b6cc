package shardq

import (
	"time"

	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// Stats is a reading of a queue's state and counters: see [Queue.Stats].
type Stats struct {
	// Shards is the number of shards.
	Shards int
	// Ready is the depth of the queue: the number of ready items, as
	// [Queue.Len] returns it.
	Ready int
	// Delayed is the number of items whose delay is running. Some of them may
	// be ready or in processing as well.
	Delayed int
	// Processing is the number of items in processing: handed out, and not
	// Done.
	Processing int
	// Held is the number of distinct items that the queue holds, in any state.
	// [Options].Capacity limits it. Those that are neither ready nor in
	// processing are delayed.
	Held int
	// Groups is the number of groups that have items.
	Groups int
	// Throttled is the number of groups that have ready items, but are at their
	// limit, wait for their rate, or are paused. Len counts their ready items,
	// but a Get does not return them yet.
	Throttled int
	// ThrottledByRate and ThrottledByPause are the numbers of those of them
	// that wait for their rate, and that are paused.
	ThrottledByRate, ThrottledByPause int
	// Paused reports that the queue is paused: see [Queue.Pause].
	Paused bool
	// Rate is the rate of the queue: see [Options].Rate.
	Rate Rate
	// Added counts the adds that asked for a run: the item was neither ready
	// nor dirty. A delay counts when it expires.
	Added uint64
	// Deduplicated counts the adds that a run to come serves anyway, and those
	// that [AddOptions].NotAgainWithin refused.
	Deduplicated uint64
	// Expired counts the delays that expired.
	Expired uint64
	// Dropped counts the adds after a shutdown began, and the delayed items
	// that the shutdown dropped.
	Dropped uint64
	// Canceled counts the calls of Cancel that canceled something.
	Canceled uint64
	// OverCapacity counts the items that Add and the like took in beyond
	// [Options].Capacity.
	OverCapacity uint64
	// Rejected counts the adds of items that are not equal to themselves.
	Rejected uint64
	// Misused counts the Dones of items that were not in processing.
	Misused uint64
	// Discarded counts the items that workers discarded because they had failed
	// for good. It does not count those that the end of the queue left undone.
	Discarded uint64
	// Outages counts the outages: five failed attempts of workers or more, with
	// no success between them. A [worker.Permanent] error does not count,
	// because it is about its item. A [worker.RequeueAfter] counts as a
	// success. OutageFailures is the number of failed attempts since the last
	// success, while an outage lasts.
	//
	// OutageFailures is 0 otherwise.
	Outages        uint64
	OutageFailures int
	// Capacity is [Options].Capacity.
	//
	// If zero, there is no limit.
	Capacity int
	// Limited is the number of items of which the limiter keeps failures.
	//
	// It is -1 if the limiter does not say.
	Limited int
	// Parked is the number of consumers that are blocked until an item is
	// ready.
	Parked int
	// Workers is the number of open slots: see [Queue.OpenSlot].
	Workers int
	// ShuttingDown reports that a shutdown has begun.
	ShuttingDown bool
	// NextDue is when the next delay expires, to the tick. It may be too early
	// if that delay was canceled or put off, or while windows are open.
	//
	// It is zero if no delay is running.
	NextDue time.Time
	// Closed reports that no item is handed out now, because the queue is
	// paused or its rate is reached.
	Closed bool
	// NextToken is the earliest moment at which the queue or a throttled group
	// gets a token of its rate, or at which the pause of a group ends. It may
	// be too early.
	//
	// It is zero if no ready item waits for that.
	NextToken time.Time
	// PerShard counts the items of each shard, by its number.
	PerShard []stats.Shard
	// Priorities counts the ready items of each priority that has some, the
	// highest first.
	//
	// It is nil while all items have the priority 0. It is also nil while the
	// ready items of a shard have more than 256 priorities, counted for each
	// group alone.
	Priorities []stats.Priority
	// Metrics has the figures that [Options].Metrics asks for, or is nil.
	Metrics *stats.Metrics
	// Values counts the values of a coalescer. It is nil for other queues.
	Values *stats.Values
}

// Skew returns the adds of the busiest shard divided by the mean of all shards.
// It is 1 if all are alike, and the number of shards if one had all adds. It is
// 0 if nothing was added.
func (s *Stats) Skew() float64 {
	busiest := uint64(0)
	for i := range s.PerShard {
		busiest = max(busiest, s.PerShard[i].Added)
	}
	if s.Added == 0 {
		return 0
	}
	return float64(busiest) * float64(len(s.PerShard)) / float64(s.Added)
}

// Stats returns a reading of the queue's state and counters. It locks one shard
// after the other, each briefly. Every shard's part is consistent in itself,
// the sum only if the queue is at rest. The cost grows with the number of
// shards, not with that of items, groups or priorities: of a shard, it adds
// up at most 256 priorities and, with Ages, asks at most 64 groups for their
// oldest item.
func (q *Queue[T]) Stats() Stats { return q.newStats(q.shards.Stats()) }

// newStats adds to a reading of the shards what they do not know.
func (q *Queue[T]) newStats(s shard.Stats) Stats {
	st := Stats{
		Shards: s.Shards, Ready: s.Ready, Delayed: s.Delayed, Processing: s.Processing, Held: s.Held,
		Groups: s.Groups, Throttled: s.Throttled,
		ThrottledByRate: s.ThrottledByRate, ThrottledByPause: s.ThrottledByPause,
		Paused: s.Paused, Rate: Rate(s.Rate),
		Added: s.Added, Deduplicated: s.Deduplicated, Expired: s.Expired, Dropped: s.Dropped,
		Canceled: s.Canceled, OverCapacity: s.OverCapacity, Rejected: s.Rejected, Misused: s.Misused,
		Discarded: s.Discarded,
		Capacity:  q.configuration.Capacity, Limited: -1, Parked: s.Parked, Workers: q.slots.open(),
		ShuttingDown: s.ShuttingDown, NextDue: s.NextDue,
		Closed: s.Closed, NextToken: s.NextToken,
		PerShard: s.PerShard, Priorities: s.Priorities, Metrics: s.Metrics,
	}
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

// TimeLeft returns how much time is left of the delays that are running, to the
// tick. Overdue ones count as zero. It does not need [Options].Metrics.
//
// It holds the lock of a shard for at most 512 items at a time, so the result
// is not of one moment: docs/reference/benchmarks.md has its cost. If more than
// 65,536 items of a shard are delayed, it reads about that many, in random
// parts, and scales them: the Count is that of all items.
func (q *Queue[T]) TimeLeft() stats.Histogram { return q.shards.TimeLeft() }

// MostRetried returns at most limit items, those with the most failures since
// they were last forgotten, the most first. It is empty if the limiter is no
// [limiter.Census]; those of package limiter are.
//
// It visits all histories of the limiter, a part at a time. It misses no item
// that stays unforgotten during the call, and returns none twice.
func (q *Queue[T]) MostRetried(limit int) []limiter.Failed[T] {
	if census, ok := q.limiter.(limiter.Census[T]); ok && limit > 0 {
		return census.MostFailed(limit)
	}
	return nil
}
