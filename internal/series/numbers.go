package series

import (
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/stats"
)

var Numbers = slices.Concat(ofWorkqueues, ofQueues, counts, ofCoalescers)

var ofWorkqueues = []Number{
	items("workqueue.depth", "Items that are ready or dirty",
		func(s *shardq.Stats) int { return s.Metrics.Depth }),
	total("workqueue.adds", "{add}", "Adds that were not deduplicated; a delayed add counts when its delay expires",
		func(s *shardq.Stats) uint64 { return s.Added }),
	{
		Description: Description{
			"workqueue.unfinished_work", "s",
			"Sum of the times that the items in flight have been in processing; constant after a shutdown begins", Level,
		},
		Float: func(s *shardq.Stats) float64 { return s.Metrics.Unfinished.Seconds() },
	},
	gauge("workqueue.longest_running_processor", "s",
		"Longest time that an item in flight has been in processing; constant after a shutdown begins",
		func(s *shardq.Stats) float64 { return s.Metrics.LongestRunning.Seconds() }),
	total("workqueue.retries", "{retry}", "Adds with a delay, given by the caller or by the rate limiter",
		func(s *shardq.Stats) uint64 { return s.Metrics.Retries }),
}

var ofQueues = []Number{
	items("shardq.ready.items", "Items that are ready",
		func(s *shardq.Stats) int { return s.Ready }),
	items("shardq.processing.items", "Items in flight, between Get and Done",
		func(s *shardq.Stats) int { return s.Processing }),
	items("shardq.dirty.items", "Items in flight that were added again, and become ready when their processing ends",
		func(s *shardq.Stats) int { return s.Metrics.Dirty }),
	items("shardq.delayed.items", "Items whose delay is running; some may also be ready or in flight",
		func(s *shardq.Stats) int { return s.Delayed }),
	items("shardq.held.items", "Distinct items held, in any state; the capacity limits this number",
		func(s *shardq.Stats) int { return s.Held }),
	items("shardq.capacity.items", "Distinct items that TryAdd and AddContext allow the queue to hold; missing without a limit",
		func(s *shardq.Stats) int { return s.Capacity }).
		shownIf(func(r *registry.Reading) bool { return r.Stats.Capacity > 0 }),
	items("shardq.limiter.items", "Items with a history of failures in the rate limiter; missing if the limiter does not report it",
		func(s *shardq.Stats) int { return s.Limited }).
		shownIf(func(r *registry.Reading) bool { return r.Stats.Limited >= 0 }),
	gauge("shardq.oldest.ready", "s",
		"Longest time that the first item of a shard has been ready; with groups, the first item of up to 64 groups of each shard, selected next or throttled",
		func(s *shardq.Stats) float64 { return oldest(s, ready) }),
	gauge("shardq.oldest.processing", "s",
		"Longest time that an item in flight has been in processing, also during a shutdown",
		func(s *shardq.Stats) float64 { return oldest(s, processing) }),
	level("shardq.workers", "{worker}", "Workers that Run has started; consumers that call Get themselves do not count",
		func(s *shardq.Stats) int { return s.Workers }),
	level("shardq.parked.consumers", "{consumer}", "Consumers that are parked until an item is ready",
		func(s *shardq.Stats) int { return s.Parked }),
	level("shardq.shards", "{shard}", "Shards of the queue",
		func(s *shardq.Stats) int { return s.Shards }),
	gauge("shardq.shard.skew", "1",
		"Adds to the busiest shard divided by the mean of all shards; 1 if all are equal, 0 before the first add",
		func(s *shardq.Stats) float64 { return s.Skew() }),
	level("shardq.shutting_down", "{queue}", "1 after a shutdown has begun, 0 before",
		func(s *shardq.Stats) int { return one(s.ShuttingDown) }),
	level("shardq.paused", "{queue}", "1 while the queue is paused, 0 otherwise",
		func(s *shardq.Stats) int { return one(s.Paused) }),
	level("shardq.groups", "{group}", "Groups that have items; missing if there are no groups",
		func(s *shardq.Stats) int { return s.Groups }).shownIf(grouped),
	level("shardq.throttled.groups", "{group}",
		"Groups that have ready items but are throttled, because as many items as the limit allows are in flight, their rate allows none yet, or they are paused; missing if there are no groups",
		func(s *shardq.Stats) int { return s.Throttled }).shownIf(grouped),
	level("shardq.rate_throttled.groups", "{group}",
		"Those of the throttled groups whose rate allows no item yet; missing if there are no groups",
		func(s *shardq.Stats) int { return s.ThrottledByRate }).shownIf(grouped),
	level("shardq.pause_throttled.groups", "{group}",
		"Those of the throttled groups that are paused; missing if there are no groups",
		func(s *shardq.Stats) int { return s.ThrottledByPause }).shownIf(grouped),
	level("shardq.outage.failures", "{attempt}",
		"Failed attempts of workers since the last success, while an outage lasts, which is from five of them on; 0 otherwise",
		func(s *shardq.Stats) int { return s.OutageFailures }),
}

var counts = []Number{
	total("shardq.deduplicated.adds", "{add}", "Adds that were deduplicated, because their item was ready or dirty already",
		func(s *shardq.Stats) uint64 { return s.Deduplicated }),
	total("shardq.dropped.adds", "{add}", "Adds after a shutdown began, and adds whose delay was running when it began",
		func(s *shardq.Stats) uint64 { return s.Dropped }),
	total("shardq.rejected.adds", "{add}", "Adds of items that are not equal to themselves",
		func(s *shardq.Stats) uint64 { return s.Rejected }),
	total("shardq.canceled.adds", "{add}", "Calls of Cancel that took back a ready, dirty or delayed add",
		func(s *shardq.Stats) uint64 { return s.Canceled }),
	total("shardq.over_capacity.adds", "{add}", "Items that were added beyond the capacity, by adds that do not honor it",
		func(s *shardq.Stats) uint64 { return s.OverCapacity }),
	total("shardq.misused.dones", "{done}", "Calls of Done for items that were not in flight",
		func(s *shardq.Stats) uint64 { return s.Misused }),
	total("shardq.expired.delays", "{delay}", "Delays that expired, and made their item ready or dirty",
		func(s *shardq.Stats) uint64 { return s.Expired }),
	total("shardq.backoffs", "{retry}", "Adds whose delay was a backoff of the rate limiter",
		func(s *shardq.Stats) uint64 { return s.Metrics.Backoffs }),
	total("shardq.discarded.items", "{item}", "Items that workers discarded, because of Permanent or MaxAttempts",
		func(s *shardq.Stats) uint64 { return s.Discarded }),
	total("shardq.outages", "{outage}", "Outages: five failed attempts of workers or more, with no success between them",
		func(s *shardq.Stats) uint64 { return s.Outages }),
}

var ofCoalescers = []Number{
	level("shardq.pending.keys", "{key}", "Keys of a Coalescer that have an entry; missing for other queues",
		func(s *shardq.Stats) int { return s.Values.Keys }).shownIf(coalesced),
	level("shardq.lingering.keys", "{key}",
		"Keys of a Coalescer that wait for more values; missing for other queues",
		func(s *shardq.Stats) int { return s.Values.Lingering }).shownIf(coalesced),
	level("shardq.pending.weight", "{weight}",
		"Weight of the entries of a Coalescer, which is their number without a Weight function; missing for other queues",
		func(s *shardq.Stats) int { return s.Values.Weight }).shownIf(coalesced),
	level("shardq.pending.capacity", "{weight}",
		"Weight of the entries that TryPut and PutContext allow a Coalescer to hold; missing without a limit, and for other queues",
		func(s *shardq.Stats) int { return s.Values.Capacity }).
		shownIf(func(r *registry.Reading) bool { return coalesced(r) && r.Stats.Values.Capacity > 0 }),
	total("shardq.puts", "{put}", "Values that a Coalescer accepted; missing for other queues",
		func(s *shardq.Stats) uint64 { return s.Values.Put }).shownIf(coalesced),
	total("shardq.merged.puts", "{put}",
		"Values of a Coalescer that merged into another one before a worker took them; missing for other queues",
		func(s *shardq.Stats) uint64 { return s.Values.Merged }).shownIf(coalesced),
	total("shardq.pending.over_capacity", "{excess}",
		"Times that the entries of a Coalescer exceeded its capacity after a Put, after a value was put back, or because merged values weighed more; one Put may count more than once; missing for other queues",
		func(s *shardq.Stats) uint64 { return s.Values.OverCapacity }).shownIf(coalesced),
}

func total(name, unit, text string, read func(s *shardq.Stats) uint64) Number {
	return Number{
		Description: Description{name, unit, text, Counter},
		Integer:     func(s *shardq.Stats) int64 { return int64(read(s)) },
	}
}

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

func (n Number) shownIf(shown func(r *registry.Reading) bool) Number {
	n.shown = shown
	return n
}

func grouped(r *registry.Reading) bool   { return r.Configuration.Groups }
func coalesced(r *registry.Reading) bool { return r.Stats.Values != nil }

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func ready(i *stats.Shard) time.Duration      { return i.OldestReady }
func processing(i *stats.Shard) time.Duration { return i.OldestProcessing }

func oldest(s *shardq.Stats, age func(i *stats.Shard) time.Duration) float64 {
	longest := time.Duration(0)
	for i := range s.PerShard {
		longest = max(longest, age(&s.PerShard[i]))
	}
	return longest.Seconds()
}
