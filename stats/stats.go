package stats

import (
	"fmt"
	"strconv"
	"time"
)

// Stats is a reading of a queue's state and counters.
type Stats struct {
	// Shards is the number of shards.
	Shards int
	// Ready is the depth of the queue: the number of ready items.
	Ready int
	// Delayed is the number of items whose delay is running. Some of them may
	// be ready or in processing as well.
	Delayed int
	// Processing is the number of items in processing: handed out, and not
	// Done.
	Processing int
	// Held is the number of distinct items that the queue holds, in any state.
	// Those that are neither ready nor in processing are delayed.
	Held int
	// Groups is the number of groups that have items.
	Groups int
	// Throttled is the number of groups whose ready items are not handed out,
	// because the group is at its limit, waits for its rate, or is paused.
	// ThrottledByRate and ThrottledByPause are parts of that number.
	Throttled, ThrottledByRate, ThrottledByPause int
	// Paused reports that the queue is paused.
	Paused bool
	// Rate is the rate of the queue.
	Rate Rate
	// Added counts the adds that asked for a run: the item was neither ready
	// nor dirty. A delay counts when it expires.
	Added uint64
	// Done counts the processings that have ended, with success or without.
	Done uint64
	// Deduplicated counts the adds that a run to come serves anyway, and those
	// that a window refused.
	Deduplicated uint64
	// Expired counts the delays that expired.
	Expired uint64
	// Dropped counts the adds after a shutdown began, and the delayed items
	// that the shutdown dropped.
	Dropped uint64
	// Canceled counts the calls of Cancel that canceled something.
	Canceled uint64
	// OverCapacity counts the items that Add and the like took in beyond the
	// capacity.
	OverCapacity uint64
	// Rejected counts the adds of items that are not equal to themselves.
	Rejected uint64
	// Misused counts the Dones of items that were not in processing.
	Misused uint64
	// Discarded counts the items that workers discarded because they had failed
	// for good. It does not count those that the end of the queue left undone.
	Discarded uint64
	// Outages counts the outages: five failed attempts of workers or more, with
	// no success between them. Errors that are permanent, and so about their
	// item, do not count. OutageFailures is the number of failed attempts since
	// the last success while an outage lasts, and otherwise 0.
	Outages        uint64
	OutageFailures int
	// Capacity is the greatest number of items, or 0 if there is no limit.
	Capacity int
	// Limited is the number of items of which the limiter keeps failures, or -1
	// if the limiter does not say.
	Limited int
	// Parked is the number of consumers that are blocked until an item is
	// ready.
	Parked int
	// Workers is the number of workers of pools.
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
	PerShard []Shard
	// Priorities counts the ready items of each priority that has some, the
	// highest first.
	//
	// It is nil while all items have the priority 0. It is also nil while the
	// ready items of a shard have more than 256 priorities, counted for each
	// group alone.
	Priorities []Priority
	// Metrics has the figures that a queue keeps only if asked to, or is nil.
	Metrics *Metrics
	// Values counts the values of a coalescer. It is nil for other queues.
	Values *Values
}

// String returns the state in a line, such as
//
//	3 ready, 2 in flight, 97 delayed, 25,565 done
func (s Stats) String() string {
	return fmt.Sprintf("%s ready, %s in flight, %s delayed, %s done", thousands(uint64(s.Ready)),
		thousands(uint64(s.Processing)), thousands(uint64(s.Delayed)), thousands(s.Done))
}

// thousands writes a number with commas.
func thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
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
