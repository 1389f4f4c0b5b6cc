package shardqotel

import (
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/roster"
)

// An instrument is what is observed of each queue.
type instrument struct {
	name, unit, description string
	kind                    kind
	// shown reports whether a queue has it; nil if all have it.
	shown func(r *roster.Reading) bool
	// integer or number reads it: one of them is set.
	integer func(s *shardq.Stats) int64
	number  func(s *shardq.Stats) float64
}

type kind int

const (
	counter kind = iota // only rises, and can be added up
	level               // rises and falls, and can be added up
	gauge               // cannot be added up
)

func (i *instrument) has(r *roster.Reading) bool { return i.shown == nil || i.shown(r) }

func (i *instrument) makeInteger(meter metric.Meter) (metric.Int64Observable, error) {
	unit, description := metric.WithUnit(i.unit), metric.WithDescription(i.description)
	switch i.kind {
	case counter:
		return meter.Int64ObservableCounter(i.name, unit, description)
	case level:
		return meter.Int64ObservableUpDownCounter(i.name, unit, description)
	default:
		return meter.Int64ObservableGauge(i.name, unit, description)
	}
}

func (i *instrument) makeNumber(meter metric.Meter) (metric.Float64Observable, error) {
	unit, description := metric.WithUnit(i.unit), metric.WithDescription(i.description)
	if i.kind == level {
		return meter.Float64ObservableUpDownCounter(i.name, unit, description)
	}
	return meter.Float64ObservableGauge(i.name, unit, description)
}

var failures = instrument{
	name: "shardq.failed.readings", unit: "{reading}",
	description: "Readings of the queue that failed because its clock or its limiter panicked; its other metrics are missing then.",
}

var groupItems = instrument{
	name: "shardq.group.items", unit: "{item}", kind: level,
	description: "Items of a group by what they are at: ready, processing or waiting.",
}

var instruments = []instrument{
	items("workqueue.depth", "Items that are ready, or will be when their present processing is done.",
		func(s *shardq.Stats) int { return s.Metrics.Depth }),
	total("workqueue.adds", "{add}", "Adds that asked for a run.",
		func(s *shardq.Stats) uint64 { return s.Added }),
	{
		name: "workqueue.unfinished_work", unit: "s", kind: level,
		description: "For how long the items in processing have been that, together; stands still once a shutdown begins.",
		number:      func(s *shardq.Stats) float64 { return s.Metrics.Unfinished.Seconds() },
	},
	{
		name: "workqueue.longest_running_processor", unit: "s", kind: gauge,
		description: "For how long the longest of the items in processing has been that; stands still once a shutdown begins.",
		number:      func(s *shardq.Stats) float64 { return s.Metrics.LongestRunning.Seconds() },
	},
	total("workqueue.retries", "{retry}", "Adds that came with a delay or asked for one.",
		func(s *shardq.Stats) uint64 { return s.Metrics.Retries }),

	items("shardq.ready.items", "Items that are ready to be handed out.",
		func(s *shardq.Stats) int { return s.Ready }),
	items("shardq.processing.items", "Items that were handed out and are not done.",
		func(s *shardq.Stats) int { return s.Processing }),
	items("shardq.dirty.items", "Items in processing that were added meanwhile, and are to be processed once more.",
		func(s *shardq.Stats) int { return s.Metrics.Dirty }),
	items("shardq.waiting.items", "Items whose delay is running; some may be ready or in processing as well.",
		func(s *shardq.Stats) int { return s.Waiting }),
	items("shardq.held.items", "Different items that the queue holds, whatever their state: what a capacity bounds.",
		func(s *shardq.Stats) int { return s.Held }),
	shownIf(items("shardq.capacity.items", "How many items the queue may hold for those who ask for room; missing if there is no bound.",
		func(s *shardq.Stats) int { return s.Capacity }),
		func(r *roster.Reading) bool { return r.Stats.Capacity > 0 }),
	shownIf(items("shardq.limiter.items", "Items of which the limiter has a history of failures; missing if the limiter does not tell.",
		func(s *shardq.Stats) int { return s.Limited }),
		func(r *roster.Reading) bool { return r.Stats.Limited >= 0 }),
	{
		name: "shardq.oldest.ready", unit: "s", kind: gauge,
		description: "For how long the longest of the items has been ready that are at the heads of the shards' lines; with groups, of those of up to 64 groups of each shard, next in turn or held back.",
		number:      func(s *shardq.Stats) float64 { return oldest(s, ready) },
	},
	{
		name: "shardq.oldest.processing", unit: "s", kind: gauge,
		description: "For how long the longest of the items in processing has been that, also during a shutdown.",
		number:      func(s *shardq.Stats) float64 { return oldest(s, processing) },
	},
	things("shardq.workers", "{worker}", "Workers that the queue runs itself; none of a loop of one's own.",
		func(s *shardq.Stats) int { return s.Workers }),
	things("shardq.parked.consumers", "{consumer}", "Consumers that sleep until something is ready.",
		func(s *shardq.Stats) int { return s.Parked }),
	things("shardq.shards", "{shard}", "Shards of the queue.",
		func(s *shardq.Stats) int { return s.Shards }),
	{
		name: "shardq.shard.skew", unit: "1", kind: gauge,
		description: "Adds to the busiest shard divided by the mean of all shards: 1 if all are alike, 0 before the first add.",
		number:      func(s *shardq.Stats) float64 { return s.Skew() },
	},
	things("shardq.shutting_down", "{queue}", "1 once a shutdown has begun, 0 before.",
		func(s *shardq.Stats) int { return one(s.ShuttingDown) }),
	shownIf(things("shardq.groups", "{group}", "Groups that have items; missing if there are no groups.",
		func(s *shardq.Stats) int { return s.Groups }), grouped),
	shownIf(things("shardq.held_back.groups", "{group}",
		"Groups that have something ready, and as much in processing as the limit allows; missing if there are no groups.",
		func(s *shardq.Stats) int { return s.HeldBack }), grouped),

	total("shardq.merged.adds", "{add}", "Adds that were served by a run to come anyway.",
		func(s *shardq.Stats) uint64 { return s.Merged }),
	total("shardq.dropped.adds", "{add}", "Adds that came after a shutdown began, and delayed adds that waited when it began.",
		func(s *shardq.Stats) uint64 { return s.Dropped }),
	total("shardq.rejected.adds", "{add}", "Adds of items that are not equal to themselves.",
		func(s *shardq.Stats) uint64 { return s.Rejected }),
	total("shardq.canceled.adds", "{add}", "Calls of Cancel that took something back.",
		func(s *shardq.Stats) uint64 { return s.Canceled }),
	total("shardq.exceeding.adds", "{add}", "Items that were taken in beyond the capacity, by adds that do not ask for room.",
		func(s *shardq.Stats) uint64 { return s.Exceeded }),
	total("shardq.misused.dones", "{done}", "Dones of items that were not in processing.",
		func(s *shardq.Stats) uint64 { return s.Misused }),
	total("shardq.ended.delays", "{delay}", "Delays that ended, and made their item ready.",
		func(s *shardq.Stats) uint64 { return s.Fired }),
	total("shardq.backoffs", "{retry}", "Adds that asked the limiter for a delay, for work that failed.",
		func(s *shardq.Stats) uint64 { return s.Metrics.BackedOff }),
	total("shardq.give_ups", "{item}", "Items that workers gave up, because of Permanent or MaxAttempts.",
		func(s *shardq.Stats) uint64 { return s.GivenUp }),

	shownIf(things("shardq.pending.keys", "{key}", "Keys of a Coalescer that have a value pending; missing for other queues.",
		func(s *shardq.Stats) int { return s.Values.Keys }), coalesced),
	shownIf(things("shardq.pending.weight", "{weight}",
		"What the pending values of a Coalescer weigh: as much as there are keys, unless values are weighed; missing for other queues.",
		func(s *shardq.Stats) int { return s.Values.Weight }), coalesced),
	shownIf(things("shardq.pending.capacity", "{weight}",
		"How much the pending values of a Coalescer may weigh for those who ask for room; missing if there is no bound, and for other queues.",
		func(s *shardq.Stats) int { return s.Values.Capacity }),
		func(r *roster.Reading) bool { return coalesced(r) && r.Stats.Values.Capacity > 0 }),
	shownIf(total("shardq.puts", "{put}", "Values that were put into a Coalescer and taken in; missing for other queues.",
		func(s *shardq.Stats) uint64 { return s.Values.Put }), coalesced),
	shownIf(total("shardq.merged.puts", "{put}",
		"Values that were put into a Coalescer whose key had a value pending; missing for other queues.",
		func(s *shardq.Stats) uint64 { return s.Values.Merged }), coalesced),
	shownIf(total("shardq.exceeding.values", "{value}",
		"Values that took a Coalescer beyond its capacity, by a Put, by being given back, or by weighing more since they were merged; missing for other queues.",
		func(s *shardq.Stats) uint64 { return s.Values.Exceeded }), coalesced),
}

// total is a counter.
func total(name, unit, description string, read func(s *shardq.Stats) uint64) instrument {
	return instrument{
		name: name, unit: unit, description: description, kind: counter,
		integer: func(s *shardq.Stats) int64 { return int64(read(s)) },
	}
}

// things counts what there is at the moment.
func things(name, unit, description string, read func(s *shardq.Stats) int) instrument {
	return instrument{
		name: name, unit: unit, description: description, kind: level,
		integer: func(s *shardq.Stats) int64 { return int64(read(s)) },
	}
}

func items(name, description string, read func(s *shardq.Stats) int) instrument {
	return things(name, "{item}", description, read)
}

func shownIf(i instrument, shown func(r *roster.Reading) bool) instrument {
	i.shown = shown
	return i
}

func grouped(r *roster.Reading) bool { return r.Configuration.Groups }

func coalesced(r *roster.Reading) bool { return r.Stats.Values != nil }

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func ready(i *shardq.ShardInfo) time.Duration      { return i.OldestReady }
func processing(i *shardq.ShardInfo) time.Duration { return i.OldestProcessing }

// oldest returns the greatest of the shards' ages, in seconds.
func oldest(s *shardq.Stats, age func(i *shardq.ShardInfo) time.Duration) float64 {
	longest := time.Duration(0)
	for i := range s.PerShard {
		longest = max(longest, age(&s.PerShard[i]))
	}
	return longest.Seconds()
}
