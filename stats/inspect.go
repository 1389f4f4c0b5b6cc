package stats

import (
	"iter"
	"time"

	"github.com/shardq/shardq/limiter"
)

// An Inspector is a queue of items of any type, as a page, an exporter or a log
// sees it. A queue and a coalescer are Inspectors. All methods are safe for
// concurrent use, and work after a shutdown.
type Inspector interface {
	// Name is the name of the queue.
	Name() string
	// Stats returns a reading of the state and the counters.
	Stats() Stats
	// Groups returns an iterator over the groups that have items.
	Groups() iter.Seq[Group]
	// Inspect returns what else there is to know.
	Inspect() Inspection
}

// An Inspection tells more of a queue, with items of any type. The methods are
// those of the queue, where it has a method of that name.
type Inspection interface {
	// Configuration says how the queue was made.
	Configuration() Configuration
	// Snapshot returns the Stats, and at most limit items of each state.
	Snapshot(limit int) Snapshot[any]
	// All returns an iterator over the items in a state. Those in processing
	// have the numbers of their workers.
	All(state State) iter.Seq[Item[any]]
	// Lookup returns what the queue knows of an item. It reports false for an
	// item of another type than the queue's.
	Lookup(item any) (found Item[any], ok bool)
	// RecentFailures returns the last failures of workers, and the last items
	// that they discarded, at most limit of each, the newest first.
	RecentFailures(limit int) (failed, discarded []Failure[any])
	// MostRetried returns at most limit items, those with the most failures
	// since they were last forgotten, the most first. It visits all histories
	// of the limiter. It is empty if the limiter is no [limiter.Census].
	MostRetried(limit int) []limiter.Failed[any]
	// GroupAttempts returns at most limit groups, those with the most attempts
	// of workers, the most first. A queue counts about a thousand groups: see
	// [GroupAttempts]. It is empty without metrics or groups.
	GroupAttempts(limit int) []GroupAttempts
	// TimeLeft returns how much time is left of the delays that are running, to
	// the tick. Of more than 65,536 delayed items in a shard it reads about
	// that many, and scales them.
	TimeLeft() Histogram
	// Operator changes the queue. It is nil if the Inspector only reads.
	Operator() Operator
}

// An Operator changes a queue of any type, for a page with actions. The methods
// that take an item do nothing, and return the zero value, if its type is not
// the queue's.
type Operator interface {
	// RetryNow makes a delayed item ready at once, or dirty if it is in
	// processing, as the end of the delay does. It reports false if no delay of
	// the item was running. The limiter's history of the item stays.
	RetryNow(item any) bool
	// Cancel is Cancel of the queue. For a coalescer, it also drops the pending
	// value.
	Cancel(item any) Canceled
	// The other methods are those of the queue.
	Pause()
	Resume()
	PauseGroup(group string, until time.Time)
	ResumeGroup(group string)
}

// A Snapshot describes a queue and some of its items.
type Snapshot[T comparable] struct {
	// Time is when the snapshot was taken, by the queue's clock.
	Time time.Time
	// Stats is the state and the counters.
	Stats Stats
	// Processing, Ready and Delayed are some of the items in each state. Those
	// that have been in it longest come first, and of the delayed ones the next
	// to expire. Without groups, they are the next 256 ready items of each
	// shard: with priorities, the longest may be behind those.
	Processing, Ready, Delayed []Item[T]
}

// Canceled says what a Cancel canceled.
type Canceled struct {
	// Ready reports that the item was ready.
	Ready bool
	// Dirty reports that the item is in processing, and was to run once more
	// afterwards.
	Dirty bool
	// Delayed reports that a delay of the item was running.
	Delayed bool
}

// Any reports whether anything was canceled.
func (c Canceled) Any() bool { return c != Canceled{} }

// A Configuration says how a queue was made.
type Configuration struct {
	// Name is the name of the queue, and Item the type of its items.
	Name, Item string
	// Shards, Capacity, LowPriorityInterval, Tick and StuckAfter are those of
	// the options, or their defaults.
	Shards, Capacity, LowPriorityInterval int
	Tick, StuckAfter                      time.Duration
	// Routing says what chooses an item's shard: "seeded hash", "hash
	// function", "stable hash" or "group".
	Routing string
	// Groups, Ages and Metrics say which features are on.
	Groups, Ages, Metrics bool
	// Controller reports that the queue has the rules of controller-runtime's
	// priority queue, as those of package kubernetes do.
	Controller bool
	// Limiter and Clock are the types of the limiter and of the clock.
	Limiter, Clock string
	// Created is the real time at which the queue was made, whatever its clock
	// says. Its counters started then.
	Created time.Time
}
