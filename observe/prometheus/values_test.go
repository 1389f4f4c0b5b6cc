package shardqprom_test

import (
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/internal/series/seriestest"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
	"github.com/shardq/shardq/stats"
)

// names maps the series that are one number to their names in OpenTelemetry.
var names = map[string]string{
	"workqueue.depth":                     "workqueue_depth",
	"workqueue.adds":                      "workqueue_adds_total",
	"workqueue.unfinished_work":           "workqueue_unfinished_work_seconds",
	"workqueue.longest_running_processor": "workqueue_longest_running_processor_seconds",
	"workqueue.retries":                   "workqueue_retries_total",
	"shardq.ready.items":                  "shardq_ready_items",
	"shardq.processing.items":             "shardq_processing_items",
	"shardq.dirty.items":                  "shardq_dirty_items",
	"shardq.delayed.items":                "shardq_delayed_items",
	"shardq.held.items":                   "shardq_held_items",
	"shardq.capacity.items":               "shardq_capacity_items",
	"shardq.limiter.items":                "shardq_limiter_items",
	"shardq.oldest.ready":                 "shardq_oldest_ready_seconds",
	"shardq.oldest.processing":            "shardq_oldest_processing_seconds",
	"shardq.workers":                      "shardq_workers",
	"shardq.parked.consumers":             "shardq_parked_consumers",
	"shardq.shards":                       "shardq_shards",
	"shardq.shard.skew":                   "shardq_shard_skew_ratio",
	"shardq.shutting_down":                "shardq_shutting_down",
	"shardq.paused":                       "shardq_paused",
	"shardq.groups":                       "shardq_groups",
	"shardq.throttled.groups":             "shardq_throttled_groups",
	"shardq.rate_throttled.groups":        "shardq_rate_throttled_groups",
	"shardq.pause_throttled.groups":       "shardq_pause_throttled_groups",
	"shardq.deduplicated.adds":            "shardq_deduplicated_adds_total",
	"shardq.dropped.adds":                 "shardq_dropped_adds_total",
	"shardq.rejected.adds":                "shardq_rejected_adds_total",
	"shardq.canceled.adds":                "shardq_canceled_adds_total",
	"shardq.over_capacity.adds":           "shardq_over_capacity_adds_total",
	"shardq.misused.dones":                "shardq_misused_dones_total",
	"shardq.expired.delays":               "shardq_expired_delays_total",
	"shardq.backoffs":                     "shardq_backoffs_total",
	"shardq.discarded.items":              "shardq_discarded_items_total",
	"shardq.outages":                      "shardq_outages_total",
	"shardq.outage.failures":              "shardq_outage_failures",
	"shardq.pending.keys":                 "shardq_pending_keys",
	"shardq.lingering.keys":               "shardq_lingering_keys",
	"shardq.pending.weight":               "shardq_pending_weight",
	"shardq.pending.capacity":             "shardq_pending_capacity",
	"shardq.puts":                         "shardq_puts_total",
	"shardq.merged.puts":                  "shardq_merged_puts_total",
	"shardq.pending.over_capacity":        "shardq_pending_over_capacity_total",
}

// TestEverySeries checks that each series has its own number, and that there
// are no others.
func TestEverySeries(t *testing.T) {
	q := seriestest.Invent("q")
	families := gather(t, newCollector(t, shardqprom.Options{Groups: 8}, q))
	requireNumbers(t, families, seriestest.Invented)
	require.Equal(t, 0.0, value(t, families, "shardq_failed_readings_total"))
	require.Equal(t, 1.0, value(t, families, "shardq_group_items", "group=a", "state=ready"))
	require.Equal(t, 1.0, value(t, families, "shardq_group_items", "group=a", "state=processing"))
	require.Equal(t, 1.0, value(t, families, "shardq_group_items", "group=b", "state=delayed"))
	for result, want := range seriestest.Attempts {
		label := "result=" + stats.Result(result).String()
		require.EqualValues(t, want, value(t, families, "shardq_attempts_total", label))
		require.EqualValues(t, want, value(t, families, "shardq_group_attempts_total", label, "group=a"))
		took := find(t, families["shardq_attempt_duration_seconds"], label).Histogram
		require.EqualValues(t, want, took.GetSampleCount())
		require.EqualValues(t, want, took.GetSampleSum())
	}
	delays := find(t, families["shardq_delay_seconds"]).Histogram
	require.EqualValues(t, 5, delays.GetSampleCount())
	require.Equal(t, (2*time.Hour + time.Second + 15*time.Millisecond).Seconds(), delays.GetSampleSum())
	require.EqualValues(t, 1, find(t, families["workqueue_queue_duration_seconds"]).Histogram.GetSampleCount())
	require.EqualValues(t, 0, find(t, families["workqueue_work_duration_seconds"]).Histogram.GetSampleCount())
	require.Len(t, families, len(seriestest.Invented)+8, "and the failed readings, the groups, the attempts, and four histograms")
}

// TestEverySeriesOfACoalescer checks the series of the pending values beside
// those of the queue of keys.
func TestEverySeriesOfACoalescer(t *testing.T) {
	c, err := seriestest.PlayValues("values")
	require.NoError(t, err)
	families := gather(t, newCollector(t, shardqprom.Options{}, c.Queue()))
	requireNumbers(t, families, seriestest.PlayedValues)
	require.Equal(t, 2.0, value(t, families, "workqueue_depth", "name=values"))
}

func requireNumbers(t *testing.T, families map[string]*dto.MetricFamily, want map[string]float64) {
	t.Helper()
	for name, number := range want {
		require.Contains(t, names, name)
		require.Equal(t, number, value(t, families, names[name]), name)
		counts := families[names[name]].GetType() == dto.MetricType_COUNTER
		require.Equal(t, strings.HasSuffix(names[name], "_total"), counts, name)
	}
}

// TestMissingSeries checks that a value that a queue does not have is missing,
// not zero.
func TestMissingSeries(t *testing.T) {
	q, _ := seriestest.NewQueue("q")
	families := gather(t, newCollector(t, shardqprom.Options{Groups: 1}, q))
	for _, name := range []string{"shardq_capacity_items", "shardq_groups", "shardq_throttled_groups", "shardq_rate_throttled_groups", "shardq_pause_throttled_groups", "shardq_group_items", "shardq_group_attempts_total", "shardq_attempt_duration_seconds"} {
		require.NotContains(t, families, name)
	}
	require.Equal(t, 0.0, value(t, families, "shardq_attempts_total", "result=panic"), "before the first")
	for name := range seriestest.PlayedValues {
		require.NotContains(t, families, names[name])
	}
}

// TestCoalescerThatIsClosed checks that a coalescer disappears after its last
// value.
func TestCoalescerThatIsClosed(t *testing.T) {
	c := seriestest.NewCoalescer("values", 0)
	require.NoError(t, c.Put("a", "1"))
	collector := newCollector(t, shardqprom.Options{}, c.Queue())
	c.ShutDown()
	require.Equal(t, 1.0, value(t, gather(t, collector), "shardq_pending_keys"))
	_, _, err := c.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, 0.0, value(t, gather(t, collector), "shardq_pending_keys"))
	c.Done("a")
	require.Empty(t, gather(t, collector))
}
