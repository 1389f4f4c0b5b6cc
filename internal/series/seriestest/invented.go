package seriestest

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// Invent returns a queue whose numbers all differ, so that a test notices an
// exporter that confuses two of them. It has the numbers of a queue and of a
// Coalescer. Its groups and histograms are those of [Play].
func Invent(name string) shardq.Inspector { return inventive{Play(name)} }

// An inventive queue reports invented numbers.
type inventive struct{ shardq.Inspector }

func (i inventive) Stats() shardq.Stats {
	played := i.Inspector.Stats().Metrics
	return shardq.Stats{
		Shards: 2, Ready: 11, Delayed: 12, Processing: 13, Held: 14, Groups: 15, Throttled: 16,
		ThrottledByRate: 17, ThrottledByPause: 18,
		Added: 32, Deduplicated: 33, Expired: 34, Dropped: 35, Canceled: 36, OverCapacity: 37, Rejected: 38, Misused: 39, Discarded: 40,
		Outages: 41, OutageFailures: 42,
		Capacity: 51, Limited: 52, Parked: 53, Workers: 54, ShuttingDown: true,
		PerShard: []stats.Shard{
			{
				Ready: 61, Processing: 62, Delayed: 63, Held: 64, Added: 24,
				OldestReady: 65 * time.Second, OldestProcessing: 67 * time.Second,
			},
			{
				Ready: 71, Processing: 72, Delayed: 73, Held: 74, Added: 8,
				OldestReady: 66 * time.Second, OldestProcessing: 9 * time.Second,
			},
		},
		Metrics: &stats.Metrics{
			Depth: 81, Dirty: 82, Retries: 83, Backoffs: 84,
			QueueDuration: played.QueueDuration, WorkDuration: played.WorkDuration, Delay: played.Delay,
			Attempts:   played.Attempts,
			Unfinished: 85 * time.Second, LongestRunning: 86 * time.Second,
		},
		Values: &stats.Values{Keys: 91, Weight: 92, Capacity: 93, Put: 94, Merged: 95, OverCapacity: 96, Lingering: 97},
	}
}

// Invented has the numbers of Invent's queue, without groups and histograms.
var Invented = map[string]float64{
	"workqueue.depth":                     81,
	"workqueue.adds":                      32,
	"workqueue.unfinished_work":           85,
	"workqueue.longest_running_processor": 86,
	"workqueue.retries":                   83,
	"shardq.ready.items":                  11,
	"shardq.processing.items":             13,
	"shardq.dirty.items":                  82,
	"shardq.delayed.items":                12,
	"shardq.held.items":                   14,
	"shardq.capacity.items":               51,
	"shardq.limiter.items":                52,
	"shardq.oldest.ready":                 66, // the second shard's
	"shardq.oldest.processing":            67, // the first shard's
	"shardq.workers":                      54,
	"shardq.parked.consumers":             53,
	"shardq.shards":                       2,
	"shardq.shard.skew":                   1.5, // 24 of 32 adds, where the mean is 16
	"shardq.shutting_down":                1,
	"shardq.paused":                       0,
	"shardq.groups":                       15,
	"shardq.throttled.groups":             16,
	"shardq.rate_throttled.groups":        17,
	"shardq.pause_throttled.groups":       18,
	"shardq.deduplicated.adds":            33,
	"shardq.dropped.adds":                 35,
	"shardq.rejected.adds":                38,
	"shardq.canceled.adds":                36,
	"shardq.over_capacity.adds":           37,
	"shardq.misused.dones":                39,
	"shardq.expired.delays":               34,
	"shardq.backoffs":                     84,
	"shardq.discarded.items":              40,
	"shardq.outages":                      41,
	"shardq.outage.failures":              42,
	"shardq.pending.keys":                 91,
	"shardq.lingering.keys":               97,
	"shardq.pending.weight":               92,
	"shardq.pending.capacity":             93,
	"shardq.puts":                         94,
	"shardq.merged.puts":                  95,
	"shardq.pending.over_capacity":        96,
}
