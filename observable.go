package shardq

import (
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
)

// Observable is a queue of items of whatever type, for those who look at queues: a collector
// of metrics, a page, a log. [Queue] and [QueueView] are Observable; for a [Coalescer], take its
// [Coalescer.Queue]. All methods are safe for concurrent use, only read, and work
// after a shutdown, too.
type Observable interface {
	// Name is [Queue.Name].
	Name() string
	// Stats is [Queue.Stats].
	Stats() Stats
	// Look is [Queue.Snapshot], of items of any type.
	Look(limit int) Snapshot[any]
	// LookAtRetries is [Queue.MostRetried], of items of any type.
	LookAtRetries(limit int) []Retried[any]
	// TimeLeft is [Queue.TimeLeft].
	TimeLeft() Histogram
	// Groups is [Queue.Groups].
	Groups() iter.Seq[GroupInfo]
	// Configuration is [Queue.Configuration].
	Configuration() Configuration
}

// Histogram counts durations by their lengths.
type Histogram = shard.Histogram

// Metrics are what is counted and measured with [Options].Metrics.
type Metrics = shard.Metrics

// ShardInfo is what a queue knows of one of its shards.
type ShardInfo = shard.ShardInfo

// Retried is an item with its failures.
type Retried[T comparable] = limiter.Failed[T]

// MostRetried returns the items that failed most often since they were last forgotten,
// according to the limiter, the most often first, and at most so many. It is empty if the
// limiter does not tell: those of package limiter do, and others do that have the methods
// of [limiter.Census]. It looks through all that the limiter has, a part at a time: an item
// that is not forgotten meanwhile is not missed, and none is returned twice.
func (q *Queue[T]) MostRetried(limit int) []Retried[T] {
	if census, ok := q.limiter.(limiter.Census[T]); ok && limit > 0 {
		return census.MostFailed(limit)
	}
	return nil
}

// Look is [Queue.Snapshot], of items of any type.
func (q *Queue[T]) Look(limit int) Snapshot[any] {
	s := q.Snapshot(limit)
	return Snapshot[any]{
		Time: s.Time, Stats: s.Stats,
		Processing: anyItems(s.Processing), Ready: anyItems(s.Ready), Waiting: anyItems(s.Waiting),
	}
}

func anyItems[T comparable](rows []ItemInfo[T]) []ItemInfo[any] {
	items := make([]ItemInfo[any], len(rows))
	for i := range rows {
		items[i] = rows[i].Any()
	}
	return items
}

// LookAtRetries is [Queue.MostRetried], of items of any type.
func (q *Queue[T]) LookAtRetries(limit int) []Retried[any] {
	rows := q.MostRetried(limit)
	items := make([]Retried[any], len(rows))
	for i, row := range rows {
		items[i] = Retried[any]{Item: row.Item, Failures: row.Failures}
	}
	return items
}

// Configuration says how a queue was made.
type Configuration struct {
	// Name is [Options].Name, and Item the type of the items.
	Name, Item string
	// Shards, Tick, Capacity, GroupLimit, LowerLevelEvery and StuckAfter are those of the
	// [Options], or their defaults.
	Shards, Capacity, GroupLimit, LowerLevelEvery int
	Tick, StuckAfter                              time.Duration
	// Routing says what an item's shard follows from: "seeded hash", "hash function",
	// "stable hash" or "group".
	Routing string
	// Groups, Ages, Metrics and CancelDelayOnAdd say which of the features are on.
	Groups, Ages, Metrics, CancelDelayOnAdd bool
	// Limiter and Clock are the types of the limiter and the clock.
	Limiter, Clock string
	// Created is the real time at which the queue was made, whatever its Clock says. All
	// that it counts, it has counted since then.
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
		Shards: o.Shards, Capacity: o.Capacity, GroupLimit: o.GroupLimit, LowerLevelEvery: o.LowerLevelEvery,
		Tick: o.Tick, StuckAfter: o.StuckAfter,
		Routing: routing,
		Groups:  o.Group != nil, Ages: o.keepsAges(), Metrics: o.Metrics, CancelDelayOnAdd: o.CancelDelayOnAdd,
		Limiter: fmt.Sprintf("%T", o.RateLimiter), Clock: clockType,
		Created: time.Now(),
	}
}
