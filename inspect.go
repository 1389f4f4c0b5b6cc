package shardq

import (
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

// A Snapshot describes a queue and some of its items: see [Queue.Snapshot].
type Snapshot[T comparable] struct {
	// Time is when the snapshot was taken, by the queue's clock.
	Time time.Time
	// Stats is the state and the counters.
	Stats Stats
	// Processing, Ready and Delayed are some of the items in each state. Those
	// that have been in it longest come first, and of the delayed ones the next
	// to expire. Without groups, they are the next 256 ready items of each
	// shard: with priorities, the longest may be behind those.
	Processing, Ready, Delayed []stats.Item[T]
}

// Snapshot returns a description of the queue with at most limit items of each
// state. Without [Options].Ages, the choice of ready items and of items in
// processing is random, except that without groups the next of each shard's
// ready items are among them.
//
// It goes from shard to shard. A shard with at most 256 items of each state is
// shown as it is at one moment. A larger one is read in several steps. No item
// that stays in its state is missed, and none is returned twice. It may miss an
// item that changes its state.
//
// docs/reference/benchmarks.md has the cost. The memory grows with the result.
// The time grows with limit and the number of shards. In large shards it also
// grows with the number of items, where the queue does not keep the order: for
// ready items with groups, for items in processing without Ages, and for
// delayed items if very many expire at about the same time. No lock is held
// when it returns.
func (q *Queue[T]) Snapshot(limit int) Snapshot[T] {
	now := q.clock.Now()
	found := q.shards.Inspect(limit)
	st := q.newStats(found.Stats)
	q.slots.label(found.Processing)
	return Snapshot[T]{
		Time:       now,
		Stats:      st,
		Processing: q.withAttempts(found.Processing),
		Ready:      q.withAttempts(found.Ready),
		Delayed:    q.withAttempts(found.Delayed),
	}
}

func (q *Queue[T]) withAttempts(rows []stats.Item[T]) []stats.Item[T] {
	for i := range rows {
		rows[i].Attempts = q.limiter.NumRequeues(rows[i].Item)
	}
	return rows
}

// All returns an iterator over all items in a state. It goes from shard to
// shard, and copies the items of one before it yields them. No lock is held
// while the loop runs.
//
// It visits at most 256 items in one hold of a shard's lock. Of a shard with at
// most 256 items in the state, it yields those of one moment. Of a larger
// shard, it yields each item that stays in the state while it is copied, and
// none twice. An item that enters or leaves the state meanwhile may be missing.
//
// Within a shard, ready items come in the order in which they will be handed
// out, with groups one group after another, if they keep their places while
// they are copied. With [Options].Ages, items in processing come the longest
// first. Delayed items come in the order of their deadlines.
func (q *Queue[T]) All(state stats.State) iter.Seq[stats.Item[T]] {
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
// item in processing that is delayed as well has a Deadline. Lookup locks the
// item's shard and takes constant time.
func (q *Queue[T]) Lookup(item T) (found stats.Item[T], ok bool) {
	if found, ok = q.shards.Lookup(item); ok {
		found.Attempts = q.limiter.NumRequeues(item)
	}
	return found, ok
}

// Groups returns an iterator over the groups that have items, in no order: see
// [Options].Group. It goes from shard to shard, and copies at most 256 groups
// in one hold of a shard's lock. No lock is held while the loop runs. It yields
// each group that has items throughout, and none twice. A group that gets its
// first item after Groups has come to its shard is not yielded.
func (q *Queue[T]) Groups() iter.Seq[stats.Group] { return q.shards.Groups() }

// An Inspector describes a queue of items of any type to a page, an exporter or
// a log. [Queue], [View] and a coalescer's view are Inspectors. All methods
// only read, are safe for concurrent use, and work after a shutdown.
type Inspector interface {
	// Name is [Queue.Name].
	Name() string
	// Stats is [Queue.Stats].
	Stats() Stats
	// Inspect is [Queue.Snapshot] with items of any type.
	Inspect(limit int) Snapshot[any]
	// InspectRetries is [Queue.MostRetried] with items of any type.
	InspectRetries(limit int) []limiter.Failed[any]
	// InspectFailures is [Queue.RecentFailures] with items of any type.
	InspectFailures(limit int) (failed, discarded []stats.Failure[any])
	// GroupAttempts is [Queue.GroupAttempts].
	GroupAttempts(limit int) []stats.GroupAttempts
	// TimeLeft is [Queue.TimeLeft].
	TimeLeft() stats.Histogram
	// Groups is [Queue.Groups].
	Groups() iter.Seq[stats.Group]
	// Configuration is [Queue.Configuration].
	Configuration() Configuration
}

// Inspect is [Queue.Snapshot] with items of any type.
func (q *Queue[T]) Inspect(limit int) Snapshot[any] {
	s := q.Snapshot(limit)
	return Snapshot[any]{
		Time: s.Time, Stats: s.Stats,
		Processing: anyItems(s.Processing), Ready: anyItems(s.Ready), Delayed: anyItems(s.Delayed),
	}
}

func anyItems[T comparable](rows []stats.Item[T]) []stats.Item[any] {
	items := make([]stats.Item[any], len(rows))
	for i := range rows {
		items[i] = rows[i].Any()
	}
	return items
}

// InspectRetries is [Queue.MostRetried] with items of any type.
func (q *Queue[T]) InspectRetries(limit int) []limiter.Failed[any] {
	rows := q.MostRetried(limit)
	items := make([]limiter.Failed[any], len(rows))
	for i, row := range rows {
		items[i] = limiter.Failed[any]{Item: row.Item, Failures: row.Failures}
	}
	return items
}

// A View has the methods of a [Queue] that only read. It costs nothing and may
// be copied and compared. It comes from [Queue.View]. The methods of the zero
// View panic.
type View[T comparable] struct{ queue *Queue[T] }

// View returns a view of the queue.
func (q *Queue[T]) View() View[T] { return View[T]{q} }

// Name is [Queue.Name].
func (v View[T]) Name() string { return v.queue.Name() }

// Len is [Queue.Len].
func (v View[T]) Len() int { return v.queue.Len() }

// Stats is [Queue.Stats].
func (v View[T]) Stats() Stats { return v.queue.Stats() }

// Snapshot is [Queue.Snapshot].
func (v View[T]) Snapshot(limit int) Snapshot[T] { return v.queue.Snapshot(limit) }

// All is [Queue.All].
func (v View[T]) All(state stats.State) iter.Seq[stats.Item[T]] { return v.queue.All(state) }

// Lookup is [Queue.Lookup].
func (v View[T]) Lookup(item T) (stats.Item[T], bool) { return v.queue.Lookup(item) }

// TimeLeft is [Queue.TimeLeft].
func (v View[T]) TimeLeft() stats.Histogram { return v.queue.TimeLeft() }

// Groups is [Queue.Groups].
func (v View[T]) Groups() iter.Seq[stats.Group] { return v.queue.Groups() }

// NumRequeues is [Queue.NumRequeues].
func (v View[T]) NumRequeues(item T) int { return v.queue.NumRequeues(item) }

// ShuttingDown is [Queue.ShuttingDown].
func (v View[T]) ShuttingDown() bool { return v.queue.ShuttingDown() }

// Configuration is [Queue.Configuration].
func (v View[T]) Configuration() Configuration { return v.queue.Configuration() }

// MostRetried is [Queue.MostRetried].
func (v View[T]) MostRetried(limit int) []limiter.Failed[T] { return v.queue.MostRetried(limit) }

// Inspect is [Queue.Inspect].
func (v View[T]) Inspect(limit int) Snapshot[any] { return v.queue.Inspect(limit) }

// InspectRetries is [Queue.InspectRetries].
func (v View[T]) InspectRetries(limit int) []limiter.Failed[any] {
	return v.queue.InspectRetries(limit)
}

// A Configuration says how a queue was made: see [Queue.Configuration].
type Configuration struct {
	// Name is [Options].Name.
	Name string
	// Item is the type of the items.
	Item string
	// Shards, Capacity, GroupLimit, LowPriorityInterval, Tick and StuckAfter
	// are those of the [Options], or their defaults.
	Shards, Capacity, GroupLimit, LowPriorityInterval int
	Tick, StuckAfter                                  time.Duration
	// Routing says what chooses an item's shard: "seeded hash", "hash
	// function", "stable hash" or "group".
	Routing string
	// Groups, Ages and Metrics say which features are on.
	Groups, Ages, Metrics bool
	// CancelDelayOnAdd, DropDelayIfReady, KeepPlaces and DiscardOnShutDown are
	// as in [Options].
	CancelDelayOnAdd, DropDelayIfReady, KeepPlaces, DiscardOnShutDown bool
	// PrioritiesBeforeTurns is as in [Options].
	PrioritiesBeforeTurns bool
	// Limiter and Clock are the types of the limiter and of the clock.
	Limiter, Clock string
	// Created is the real time at which the queue was made, whatever its clock
	// says. Its counters started then.
	Created time.Time
}

// Configuration returns how the queue was made.
func (q *Queue[T]) Configuration() Configuration { return q.configuration }

// configuration describes options whose defaults are filled in.
func (o Options[T]) configuration() Configuration {
	routing := "seeded hash"
	switch {
	case o.Group != nil:
		routing = "group"
	case o.StableRouting:
		routing = "stable hash"
	case o.Hash != nil:
		routing = "hash function"
	}
	clockType := fmt.Sprintf("%T", o.Clock)
	if o.Clock == clock.Real() {
		clockType = "real"
	}
	return Configuration{
		Name: o.Name, Item: reflect.TypeFor[T]().String(),
		Shards: o.Shards, Capacity: o.Capacity, GroupLimit: o.GroupLimit, LowPriorityInterval: o.LowPriorityInterval,
		Tick: o.Tick, StuckAfter: o.StuckAfter,
		Routing: routing,
		Groups:  o.Group != nil, Ages: o.keepsAges(), Metrics: o.Metrics, CancelDelayOnAdd: o.CancelDelayOnAdd,
		DropDelayIfReady: o.DropDelayIfReady, KeepPlaces: o.KeepPlaces, DiscardOnShutDown: o.DiscardOnShutDown,
		PrioritiesBeforeTurns: o.PrioritiesBeforeTurns,
		Limiter:               fmt.Sprintf("%T", o.RateLimiter), Clock: clockType,
		Created: time.Now(),
	}
}
