package stats

import (
	"iter"
	"time"

	"github.com/shardq/shardq/limiter"
)

// An Inspector is a queue of items of any type, as a page, an exporter or a log
// sees it.
type Inspector interface {
	Name() string
	Stats() Stats
	Groups() iter.Seq[Group] // that have items, or are paused
	Inspect() Inspection
}

// An Inspection tells more of a queue, whatever the type of its items. Methods
// that shardq.Queue has as well are documented there.
type Inspection interface {
	Configuration() Configuration
	Snapshot(limit int) Snapshot[any]
	All(state State) iter.Seq[Item[any]]
	// Lookup reports false for an item of another type than the queue's.
	Lookup(item any) (found Item[any], ok bool)
	RecentFailures(limit int) (failed, discarded []Failure[any])
	// MostRetried returns the items with the most failures since they were last
	// forgotten.
	MostRetried(limit int) []limiter.Failed[any]
	// GroupAttempts returns the groups with the most attempts of workers: see
	// [GroupAttempts]. It is empty without metrics or groups.
	GroupAttempts(limit int) []GroupAttempts
	// TimeLeft returns how much time is left of the delays that are running.
	TimeLeft() Histogram
	Operator() Operator // nil if the Inspector only reads
}

// An Operator changes a queue of any type, for a page with actions. An item of
// another type than the queue's changes nothing.
type Operator interface {
	// RetryNow makes a delayed item ready at once, or dirty if it is in
	// processing. It reports false if no delay was running.
	RetryNow(item any) bool
	// Cancel does what the queue's Cancel does. It also drops the pending value
	// of a coalescer's key.
	Cancel(item any) Canceled
	Pause()
	Resume()
	PauseGroup(group string, until time.Time)
	ResumeGroup(group string)
}

// A Snapshot describes a queue and some of its items.
type Snapshot[T comparable] struct {
	Time  time.Time // by the queue's clock
	Stats Stats
	// Processing, Ready and Delayed are some of the items in each state. Those
	// that have been in it longest come first, and delayed items that expire
	// next.
	Processing, Ready, Delayed []Item[T]
}

// Canceled says which states of the item a Cancel has ended.
type Canceled struct {
	Ready   bool // the item was ready
	Dirty   bool // it is in processing, and was to run once more afterwards
	Delayed bool // a delay of the item was running
}

func (c Canceled) Any() bool { return c != Canceled{} }

// A Configuration says how a queue was made.
type Configuration struct {
	Name, Item string // Item is the type of the items
	// Shards, Capacity, LowPriorityInterval, Tick and StuckAfter have the
	// values of the options, or the defaults.
	Shards, Capacity, LowPriorityInterval int
	Tick, StuckAfter                      time.Duration
	// Routing says what chooses an item's shard: "seeded hash", "hash
	// function", "stable hash" or "group".
	Routing               string
	Groups, Ages, Metrics bool   // whether they are on
	Limiter, Clock        string // their types
	Uncounted             bool   // the Limiter is known to count no failures
	// Created is the real time at which the queue was made.
	Created time.Time
}
