package series

import (
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/roster"
)

// Numbers are all that there are.
var Numbers = slices.Concat(ofWorkqueues, ofQueues, counts, ofCoalescers)

// ofWorkqueues are those that client-go has.
var ofWorkqueues = []Number{
	items("workqueue.depth", "Items that are ready, or will be when their present processing is done",
		func(s *shardq.Stats) int { return s.Metrics.Depth }),
	total("workqueue.adds", "{add}", "Adds that asked for a run",
		func(s *shardq.Stats) uint64 { return s.Added }),
	{
		Description: Description{
			"workqueue.unfinished_work", "s",
			"For how long the items in processing have been that, together; stands still once a shutdown begins", Level,
		},
		Float: func(s *shardq.Stats) float64 { return s.Metrics.Unfinished.Seconds() },
	},
	gauge("workqueue.longest_running_processor", "s",
		"For how long the longest of the items in processing has been that; stands still once a shutdown begins",
		func(s *shardq.Stats) float64 { return s.Metrics.LongestRunning.Seconds() }),
	total("workqueue.retries", "{retry}", "Adds that came with a delay or asked for one",
		func(s *shardq.Stats) uint64 { return s.Metrics.Retries }),
}

// ofQueues say what there is at the moment.
var ofQueues = []Number{
	items("shardq.ready.items", "Items that are ready to be handed out",
		func(s *shardq.Stats) int { return s.Ready }),
	items("shardq.processing.items", "Items that were handed out and are not done",
		func(s *shardq.Stats) int { return s.Processing }),
	items("shardq.dirty.items", "Items in processing that were added meanwhile, and are to be processed once more",
		func(s *shardq.Stats) int { return s.Metrics.Dirty }),
	items("shardq.delayed.items", "Items whose delay is running; some may be ready or in processing as well",
		func(s *shardq.Stats) int { return s.Waiting }),
	items("shardq.held.items", "Different items that the queue holds, whatever their state: what a capacity bounds",
		func(s *shardq.Stats) int { return s.Held }),
	items("shardq.capacity.items", "How many items the queue may hold for those who ask for room; missing if there is no bound",
		func(s *shardq.Stats) int { return s.Capacity }).
		shownIf(func(r *roster.Reading) bool { return r.Stats.Capacity > 0 }),
	items("shardq.limiter.items", "Items of which the limiter has a history of failures; missing if the limiter does not tell",
		func(s *shardq.Stats) int { return s.Limited }).
		shownIf(func(r *roster.Reading) bool { return r.Stats.Limited >= 0 }),
	gauge("shardq.oldest.ready", "s",
		"For how long the longest of the items has been ready that are at the heads of the shards' lines; with groups, of those of up to 64 groups of each shard, next in turn or held back",
		func(s *shardq.Stats) float64 { return oldest(s, ready) }),
	gauge("shardq.oldest.processing", "s",
		"For how long the longest of the items in processing has been that, also during a shutdown",
		func(s *shardq.Stats) float64 { return oldest(s, processing) }),
	level("shardq.workers", "{worker}", "Workers that the queue runs itself; none of a loop of one's own",
		func(s *shardq.Stats) int { return s.Workers }),
	level("shardq.parked.consumers", "{consumer}", "Consumers that sleep until something is ready",
		func(s *shardq.Stats) int { return s.Parked }),
	level("shardq.shards", "{shard}", "Shards of the queue",
		func(s *shardq.Stats) int { return s.Shards }),
	gauge("shardq.shard.skew", "1",
		"Adds to the busiest shard divided by the mean of all shards: 1 if all are alike, 0 before the first add",
		func(s *shardq.Stats) float64 { return s.Skew() }),
	level("shardq.shutting_down", "{queue}", "1 once a shutdown has begun, 0 before",
		func(s *shardq.Stats) int { return one(s.ShuttingDown) }),
	level("shardq.groups", "{group}", "Groups that have items; missing if there are no groups",
		func(s *shardq.Stats) int { return s.Groups }).shownIf(grouped),
	level("shardq.throttled.groups", "{group}",
		"Groups that have something ready, and as much in processing as the limit allows; missing if there are no groups",
		func(s *shardq.Stats) int { return s.HeldBack }).shownIf(grouped),
}

// counts say what has happened.
var counts = []Number{
	total("shardq.deduplicated.adds", "{add}", "Adds that were served by a run to come anyway",
		func(s *shardq.Stats) uint64 { return s.Merged }),
	total("shardq.dropped.adds", "{add}", "Adds that came after a shutdown began, and delayed adds that waited when it began",
		func(s *shardq.Stats) uint64 { return s.Dropped }),
	total("shardq.rejected.adds", "{add}", "Adds of items that are not equal to themselves",
		func(s *shardq.Stats) uint64 { return s.Rejected }),
	total("shardq.canceled.adds", "{add}", "Calls of Cancel that took something back",
		func(s *shardq.Stats) uint64 { return s.Canceled }),
	total("shardq.exceeding.adds", "{add}", "Items that were taken in beyond the capacity, by adds that do not ask for room",
		func(s *shardq.Stats) uint64 { return s.Exceeded }),
	total("shardq.misused.dones", "{done}", "Dones of items that were not in processing",
		func(s *shardq.Stats) uint64 { return s.Misused }),
	total("shardq.expired.delays", "{delay}", "Delays that ended, and made their item ready",
		func(s *shardq.Stats) uint64 { return s.Fired }),
	total("shardq.backoffs", "{retry}", "Adds that asked the limiter for a delay, for work that failed",
		func(s *shardq.Stats) uint64 { return s.Metrics.BackedOff }),
	total("shardq.discarded.items", "{item}", "Items that workers gave up, because of Permanent or MaxAttempts",
		func(s *shardq.Stats) uint64 { return s.GivenUp }),
}

// ofCoalescers say what a Coalescer has beside the queue of its keys.
var ofCoalescers = []Number{
	level("shardq.pending.keys", "{key}", "Keys of a Coalescer that have a value pending; missing for other queues",
		func(s *shardq.Stats) int { return s.Values.Keys }).shownIf(coalesced),
	level("shardq.pending.weight", "{weight}",
		"What the pending values of a Coalescer weigh: as much as there are keys, unless values are weighed; missing for other queues",
		func(s *shardq.Stats) int { return s.Values.Weight }).shownIf(coalesced),
	level("shardq.pending.capacity", "{weight}",
		"How much the pending values of a Coalescer may weigh for those who ask for room; missing if there is no bound, and for other queues",
		func(s *shardq.Stats) int { return s.Values.Capacity }).
		shownIf(func(r *roster.Reading) bool { return coalesced(r) && r.Stats.Values.Capacity > 0 }),
	total("shardq.puts", "{put}", "Values that were put into a Coalescer and taken in; missing for other queues",
		func(s *shardq.Stats) uint64 { return s.Values.Put }).shownIf(coalesced),
	total("shardq.merged.puts", "{put}",
		"Values that were put into a Coalescer whose key had a value pending; missing for other queues",
		func(s *shardq.Stats) uint64 { return s.Values.Merged }).shownIf(coalesced),
	total("shardq.pending.excesses", "{excess}",
		"How often a Coalescer had more pending than its capacity after a Put took room, after a value was given back, or after values weighed more by being merged: one Put may count more than once; missing for other queues",
		func(s *shardq.Stats) uint64 { return s.Values.Exceeded }).shownIf(coalesced),
}

// total counts what has happened.
func total(name, unit, text string, read func(s *shardq.Stats) uint64) Number {
	return Number{
		Description: Description{name, unit, text, Counter},
		Integer:     func(s *shardq.Stats) int64 { return int64(read(s)) },
	}
}

// level counts what there is at the moment.
func level(name, unit, text string, read func(s *shardq.Stats) int) Number {
	return Number{
		Description: Description{name, unit, text, Level},
		Integer:     func(s *shardq.Stats) int64 { return int64(read(s)) },
	}
}

func items(name, text string, read func(s *shardq.Stats) int) Number {
	return level(name, "{item}", text, read)
}

func gauge(name, unit, text string, read func(s *shardq.Stats) float64) Number {
	return Number{Description: Description{name, unit, text, Gauge}, Float: read}
}

func (n Number) shownIf(shown func(r *roster.Reading) bool) Number {
	n.shown = shown
	return n
}

func grouped(r *roster.Reading) bool   { return r.Configuration.Groups }
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
