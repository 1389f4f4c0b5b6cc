package stats

import (
	"fmt"
	"strconv"
	"time"
)

// Stats is a reading of a queue's state and counters.
type Stats struct {
	Shards     int // the number of shards
	Ready      int // the depth of the queue: the number of ready items
	Delayed    int // items whose delay is running, also if ready or in processing
	Processing int // items in processing: handed out, and not Done
	// Held is the number of distinct items that the queue holds, in any state.
	Held   int
	Groups int // the number of groups that have items
	// Throttled is the number of groups whose ready items are not handed out.
	// ThrottledByRate and ThrottledByPause are parts of that number.
	Throttled, ThrottledByRate, ThrottledByPause int
	Paused                                       bool      // the queue is paused
	PausedSince                                  time.Time // or zero if it is not paused
	Rate                                         Rate      // of the queue
	// Added counts the adds that asked for a run: the item was neither ready
	// nor dirty. A delay counts when it expires.
	Added uint64
	Done  uint64 // processings that have ended, with success or without
	// Deduplicated counts the adds that a run to come serves anyway, and those
	// that a window refused.
	Deduplicated uint64
	Expired      uint64 // delays that expired
	// Dropped counts the adds after a shutdown began, and the delayed items
	// that the shutdown dropped.
	Dropped      uint64
	Canceled     uint64 // calls of Cancel that canceled something
	OverCapacity uint64 // items accepted beyond the capacity, by Add and others that ignore it
	Rejected     uint64 // adds of items that are not equal to themselves
	Misused      uint64 // Dones of items that were not in processing
	// Discarded counts the items that workers discarded because they had failed
	// for good. It does not count those that a shutdown left undone.
	Discarded uint64
	// Outages counts the outages: five or more failed attempts of workers with no
	// success between them. OutageFailures counts those of the present outage.
	Outages        uint64
	OutageFailures int
	Capacity       int // the greatest number of items, or 0 if there is no limit
	// Limited is the number of items of which the limiter keeps failures, or -1
	// if the limiter does not say.
	Limited      int
	Parked       int // consumers that are blocked until an item is ready
	Workers      int // workers of pools
	ShuttingDown bool
	// NextDue is when the next delay expires, to the tick, or zero if no delay
	// is running. It may expire later, never earlier.
	NextDue time.Time
	Closed  bool // nothing is handed out now: the queue is paused, or its rate allows no item yet
	// NextToken is when the next token of any rate comes or any pause ends, or
	// zero if nothing is ready or neither is to come. It may come later, never
	// earlier.
	NextToken time.Time
	PerShard  []Shard // by the number of the shard
	// Priorities counts the ready items of each priority that has some, the
	// highest first. It may be nil if all of them have the priority 0. It is
	// nil if a shard, or all groups of a shard together, have more than 256
	// priorities.
	Priorities []Priority
	Metrics    *Metrics // nil without Options.Metrics
	Values     *Values  // of a coalescer, or else nil
}

// String returns the state in a line, such as
//
//	3 ready, 2 in flight, 97 delayed, 25,565 done
func (s Stats) String() string {
	return fmt.Sprintf("%s ready, %s in flight, %s delayed, %s done", thousands(uint64(s.Ready)),
		thousands(uint64(s.Processing)), thousands(uint64(s.Delayed)), thousands(s.Done))
}

func thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Skew returns the adds of the busiest shard divided by the mean of all shards.
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

// Shard counts the items of one shard.
type Shard struct {
	// Ready, Processing, Delayed and Held count items: those that are ready, in
	// processing, delayed, and all distinct ones. A delayed item may be ready
	// or in processing as well.
	Ready, Processing, Delayed, Held int
	Added                            uint64 // adds that asked for a run
	// OldestReady is how long the first ready item has been ready, and
	// OldestProcessing how long the longest processing has taken, to the tick.
	OldestReady, OldestProcessing time.Duration
}

// Group counts the items of one group.
type Group struct {
	Group string // its name
	// Held counts all items of the group, Ready those that are ready, and
	// Processing those in processing. The others are delayed.
	Held, Ready, Processing int
	// Weight is the number of its items that are handed out in its turn. It is
	// 0 if the group was paused before its first item.
	Weight int
	Limit  int // of its items in processing at once, or 0 if there is none
	Rate   Rate
	// Paused reports that the group is paused. Then PausedUntil is when the
	// pause ends, or zero if it does not end by itself.
	Paused      bool
	PausedUntil time.Time
	// Throttled reports that the group has ready items, but none is handed out.
	// Reason says why.
	Throttled bool
	Reason    Throttling
	// Oldest is when its first ready item became ready, to the tick, or zero.
	Oldest time.Time
	Shard  int // the number of its shard
}

// Priority counts the ready items of one priority.
type Priority struct{ Priority, Ready int }

// Metrics are the figures that a queue keeps only with Options.Metrics. Depth,
// Retries, QueueDuration, WorkDuration, Unfinished and LongestRunning mean the
// same as in client-go's workqueue.
type Metrics struct {
	// Depth is the number of ready and of dirty items. A dirty item becomes
	// ready at its Done.
	Depth, Dirty int
	// Retries counts the adds that named a delay or asked the limiter for one.
	// Backoffs counts those that asked the limiter.
	Retries, Backoffs uint64
	// QueueDuration is how long items waited to be handed out, from the first
	// add that the run serves.
	QueueDuration Histogram
	WorkDuration  Histogram // how long items were in processing, until their Done
	// Delay has the lengths of all positive delays that calls asked for, also
	// of those for items that were delayed already.
	Delay Histogram
	// Unfinished is how long the items have been in processing, added together.
	// LongestRunning is the time of the longest.
	Unfinished, LongestRunning time.Duration
	// Attempts has the durations of the attempts of Queue.Run and worker.Pool,
	// by their results, in real time.
	Attempts Attempts
}

// Values count the pending values of a coalescer: see package coalesce.
type Values struct {
	Keys int // with a pending value
	// Lingering is the number of keys that wait for more values, because of
	// Options.Linger.
	Lingering int
	// Weight is the total weight of the pending values. Capacity is the
	// greatest weight that TryPut and PutContext allow, or 0 if there is no limit.
	Weight, Capacity int
	// Put counts the values that were accepted, and Merged those that merged into
	// another before they were taken:
	//
	//	Put - Merged = handed out - given back + canceled + dropped + pending
	//
	// Values that DrainError.Left takes out count as dropped. As a rule, a key has
	// one pending value.
	Put, Merged uint64
	// OverCapacity counts how often the capacity was exceeded: by a Put, by a
	// value that was given back, or by a value that a merge made heavier.
	// One Put may count more than once.
	OverCapacity uint64
	// Sources are the open sources, or nil if there are none.
	Sources []Source
}

// Source says how far a source of a coalescer has come: see coalesce.Source.
type Source struct {
	Name string
	Read int64 // the last offset that was put or skipped; at first, the one before NewSource's
	Safe int64 // from where to read again after a crash
	// Events counts the events that were read, from the oldest one that is not done.
	// Oldest is the age of that one. It may begin too early, but not before the last
	// look at the source (by Stats or Safe) that came before the event.
	Events uint64
	Oldest time.Duration
}
