package shardqprom

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/roster"
)

// beyond are the series that client-go has not. They are in a namespace of their own, so that no
// later version of client-go takes one of their names.
var beyond = []family{
	items("ready", "Items that are ready to be handed out", func(s *shardq.Stats) int { return s.Ready }),
	items("processing", "Items that were handed out and are not done", func(s *shardq.Stats) int { return s.Processing }),
	items("dirty", "Items in processing that were added meanwhile, and are to be processed once more",
		func(s *shardq.Stats) int { return s.Metrics.Dirty }),
	items("waiting", "Items whose delay is running; some may be ready or in processing as well",
		func(s *shardq.Stats) int { return s.Waiting }),
	items("held", "Different items that the queue holds, whatever their state: what a capacity bounds",
		func(s *shardq.Stats) int { return s.Held }),
	{
		name:  "shardq_capacity_items",
		help:  "How many items the queue may hold for those who ask for room; missing if there is no bound",
		shown: func(r *roster.Reading) bool { return r.Stats.Capacity > 0 },
		gauge: func(s *shardq.Stats) float64 { return float64(s.Capacity) },
	},
	{
		name:  "shardq_limiter_items",
		help:  "Items of which the limiter has a history of failures; missing if the limiter does not tell",
		shown: func(r *roster.Reading) bool { return r.Stats.Limited >= 0 },
		gauge: func(s *shardq.Stats) float64 { return float64(s.Limited) },
	},
	{
		name:  "shardq_oldest_ready_seconds",
		help:  "For how long the longest of the items has been ready that are at the heads of the shards' lines; with groups, of those of up to 64 groups of each shard, next in turn or held back",
		gauge: func(s *shardq.Stats) float64 { return oldest(s, ready) },
	},
	{
		name:  "shardq_oldest_processing_seconds",
		help:  "For how long the longest of the items in processing has been that, also during a shutdown",
		gauge: func(s *shardq.Stats) float64 { return oldest(s, processing) },
	},
	{
		name:  "shardq_workers",
		help:  "Workers that the queue runs itself; none of a loop of one's own",
		gauge: func(s *shardq.Stats) float64 { return float64(s.Workers) },
	},
	{
		name:  "shardq_parked_consumers",
		help:  "Consumers that sleep until something is ready",
		gauge: func(s *shardq.Stats) float64 { return float64(s.Parked) },
	},
	{
		name:  "shardq_shards",
		help:  "Shards of the queue",
		gauge: func(s *shardq.Stats) float64 { return float64(s.Shards) },
	},
	{
		name:  "shardq_shard_skew_ratio",
		help:  "Adds to the busiest shard divided by the mean of all shards: 1 if all are alike, 0 before the first add",
		gauge: func(s *shardq.Stats) float64 { return s.Skew() },
	},
	{
		name:  "shardq_shutting_down",
		help:  "1 once a shutdown has begun, 0 before",
		gauge: func(s *shardq.Stats) float64 { return one(s.ShuttingDown) },
	},
	{
		name:  "shardq_groups",
		help:  "Groups that have items; missing if there are no groups",
		shown: grouped,
		gauge: func(s *shardq.Stats) float64 { return float64(s.Groups) },
	},
	{
		name:  "shardq_held_back_groups",
		help:  "Groups that have something ready, and as much in processing as the limit allows; missing if there are no groups",
		shown: grouped,
		gauge: func(s *shardq.Stats) float64 { return float64(s.HeldBack) },
	},
	{
		name:    "shardq_merged_adds_total",
		help:    "Adds that were served by a run to come anyway",
		counter: func(s *shardq.Stats) uint64 { return s.Merged },
	},
	{
		name:    "shardq_dropped_adds_total",
		help:    "Adds that came after a shutdown began, and delayed adds that waited when it began",
		counter: func(s *shardq.Stats) uint64 { return s.Dropped },
	},
	{
		name:    "shardq_rejected_adds_total",
		help:    "Adds of items that are not equal to themselves",
		counter: func(s *shardq.Stats) uint64 { return s.Rejected },
	},
	{
		name:    "shardq_canceled_adds_total",
		help:    "Calls of Cancel that took something back",
		counter: func(s *shardq.Stats) uint64 { return s.Canceled },
	},
	{
		name:    "shardq_exceeding_adds_total",
		help:    "Items that were taken in beyond the capacity, by adds that do not ask for room",
		counter: func(s *shardq.Stats) uint64 { return s.Exceeded },
	},
	{
		name:    "shardq_misused_dones_total",
		help:    "Dones of items that were not in processing",
		counter: func(s *shardq.Stats) uint64 { return s.Misused },
	},
	{
		name:    "shardq_ended_delays_total",
		help:    "Delays that ended, and made their item ready",
		counter: func(s *shardq.Stats) uint64 { return s.Fired },
	},
	{
		name:    "shardq_backoffs_total",
		help:    "Adds that asked the limiter for a delay, for work that failed",
		counter: func(s *shardq.Stats) uint64 { return s.Metrics.BackedOff },
	},
	{
		name:    "shardq_give_ups_total",
		help:    "Items that workers gave up, because of Permanent or MaxAttempts",
		counter: func(s *shardq.Stats) uint64 { return s.GivenUp },
	},
	{
		name:  "shardq_pending_keys",
		help:  "Keys of a Coalescer that have a value pending; missing for other queues",
		shown: coalesced,
		gauge: func(s *shardq.Stats) float64 { return float64(s.Values.Keys) },
	},
	{
		name:  "shardq_pending_weight",
		help:  "What the pending values of a Coalescer weigh: as much as there are keys, unless values are weighed; missing for other queues",
		shown: coalesced,
		gauge: func(s *shardq.Stats) float64 { return float64(s.Values.Weight) },
	},
	{
		name:  "shardq_pending_capacity",
		help:  "How much the pending values of a Coalescer may weigh for those who ask for room; missing if there is no bound, and for other queues",
		shown: func(r *roster.Reading) bool { return coalesced(r) && r.Stats.Values.Capacity > 0 },
		gauge: func(s *shardq.Stats) float64 { return float64(s.Values.Capacity) },
	},
	{
		name:    "shardq_puts_total",
		help:    "Values that were put into a Coalescer and taken in; missing for other queues",
		shown:   coalesced,
		counter: func(s *shardq.Stats) uint64 { return s.Values.Put },
	},
	{
		name:    "shardq_merged_puts_total",
		help:    "Values that were put into a Coalescer whose key had a value pending; missing for other queues",
		shown:   coalesced,
		counter: func(s *shardq.Stats) uint64 { return s.Values.Merged },
	},
	{
		name:    "shardq_exceeding_values_total",
		help:    "Values that took a Coalescer beyond its capacity, by a Put, by being given back, or by weighing more since they were merged; missing for other queues",
		shown:   coalesced,
		counter: func(s *shardq.Stats) uint64 { return s.Values.Exceeded },
	},
	{
		name:      "shardq_delay_seconds",
		help:      "How long in seconds the delays were that were asked for",
		histogram: func(m *shardq.Metrics) shardq.Histogram { return m.Delay },
	},
}

// items returns a series that counts items in a state.
func items(state, help string, count func(s *shardq.Stats) int) family {
	return family{
		name:  "shardq_" + state + "_items",
		help:  help,
		gauge: func(s *shardq.Stats) float64 { return float64(count(s)) },
	}
}

func grouped(r *roster.Reading) bool { return r.Configuration.Groups }

func coalesced(r *roster.Reading) bool { return r.Stats.Values != nil }

func one(is bool) float64 {
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
