package series_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/internal/series/seriestest"
)

// TestEveryNumberIsItsOwn: each number is read from its own field. No two
// values are equal, so a mistake shows.
func TestEveryNumberIsItsOwn(t *testing.T) {
	require.Equal(t, invented, seriestest.Numbers(seriestest.Invent("q")))
	require.Len(t, invented, len(series.Numbers))
	names := map[float64]string{}
	for name, number := range invented {
		require.Empty(t, names[number], "%s is %v too", name, number)
		names[number] = name
	}
}

// TestMissingNumbers: a number that a queue does not have is missing, not zero.
func TestMissingNumbers(t *testing.T) {
	q, _ := seriestest.NewQueue("q")
	got := seriestest.Numbers(q)
	for _, name := range []string{"shardq.capacity.items", "shardq.groups", "shardq.throttled.groups", "shardq.pending.keys", "shardq.puts"} {
		require.NotContains(t, got, name)
	}
	boundless := seriestest.Numbers(seriestest.NewCoalescer("q", 0).Queue())
	require.NotContains(t, boundless, "shardq.pending.capacity")
	require.Contains(t, boundless, "shardq.pending.weight")
	mute := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, RateLimiter: muteLimiter{}})
	require.NotContains(t, seriestest.Numbers(mute), "shardq.limiter.items")
}

// A muteLimiter does not report its histories.
type muteLimiter struct{}

func (muteLimiter) When(string) time.Duration { return 0 }
func (muteLimiter) Forget(string)             {}
func (muteLimiter) NumRequeues(string) int    { return 0 }

func TestGroups(t *testing.T) {
	var r registry.Registry
	require.NoError(t, r.Add(registry.RowsOf([]shardq.Inspector{seriestest.Play("q")})...))
	got := map[string]int{}
	for part, items := range r.Read()[0].Groups(2) {
		got[part.Group+" "+part.Of] = items
	}
	require.Equal(t, map[string]int{
		"a ready": 1, "a processing": 1, "a delayed": 0,
		"b ready": 0, "b processing": 0, "b delayed": 1,
		"other ready": 1, "other processing": 0, "other delayed": 0,
	}, got)
}

// invented has the numbers of the queue of seriestest.Invent, without groups
// and histograms.
var invented = map[string]float64{
	"workqueue.depth": 81, "workqueue.adds": 32, "workqueue.retries": 83,
	"workqueue.unfinished_work": 85, "workqueue.longest_running_processor": 86,
	"shardq.ready.items": 11, "shardq.processing.items": 13, "shardq.dirty.items": 82, "shardq.delayed.items": 12,
	"shardq.held.items": 14, "shardq.capacity.items": 51, "shardq.limiter.items": 52,
	"shardq.oldest.ready":      66, // the second shard's
	"shardq.oldest.processing": 67, // the first shard's
	"shardq.workers":           54, "shardq.parked.consumers": 53, "shardq.shards": 2,
	"shardq.shard.skew":    1.5, // 24 of 32 adds, where the mean is 16
	"shardq.shutting_down": 1, "shardq.paused": 0,
	"shardq.groups": 15, "shardq.throttled.groups": 16, "shardq.rate_throttled.groups": 17, "shardq.pause_throttled.groups": 18,
	"shardq.deduplicated.adds": 33, "shardq.dropped.adds": 35, "shardq.rejected.adds": 38, "shardq.canceled.adds": 36,
	"shardq.over_capacity.adds": 37, "shardq.misused.dones": 39, "shardq.expired.delays": 34, "shardq.backoffs": 84,
	"shardq.discarded.items": 40, "shardq.outages": 41, "shardq.outage.failures": 42,
	"shardq.pending.keys": 91, "shardq.lingering.keys": 97, "shardq.pending.weight": 92, "shardq.pending.capacity": 93,
	"shardq.puts": 94, "shardq.merged.puts": 95, "shardq.pending.over_capacity": 96,
}
