package series_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/internal/series/seriestest"
	"github.com/shardq/shardq/stats"
)

// read returns a reading of a queue.
func read(t *testing.T, queue shardq.Inspector) registry.Reading {
	t.Helper()
	var r registry.Registry
	require.NoError(t, r.Add(registry.RowsOf([]shardq.Inspector{queue})...))
	readings := r.Read()
	require.Len(t, readings, 1)
	require.True(t, readings[0].Read)
	return readings[0]
}

// TestEveryNumberIsItsOwn: each number is read from its own field. No two
// values are equal, so a mistake shows.
func TestEveryNumberIsItsOwn(t *testing.T) {
	require.Equal(t, invented, seriestest.Numbers(seriestest.Invent("q")))
	require.Len(t, invented, len(series.Numbers))
	requireAllDiffer(t, invented)
	requireAllDiffer(t, playedValues)
}

func requireAllDiffer(t *testing.T, numbers map[string]float64) {
	t.Helper()
	names := map[float64]string{}
	for name, number := range numbers {
		require.Empty(t, names[number], "%s is %v too", name, number)
		names[number] = name
	}
}

// TestEveryNumberOfAQueue: each number counts what happens to the queue.
func TestEveryNumberOfAQueue(t *testing.T) {
	q := seriestest.Play("q")
	got := seriestest.Numbers(q)
	require.Contains(t, got, "shardq.shard.skew")
	delete(got, "shardq.shard.skew") // depends on the shards of the items
	require.Equal(t, played, got)

	q.ShutDown()
	q.Add("late")
	got = seriestest.Numbers(q)
	require.Equal(t, 1.0, got["shardq.shutting_down"])
	require.Equal(t, 3.0, got["shardq.dropped.adds"])
}

// TestEveryNumberOfACoalescer: a Coalescer has its numbers in addition to those
// of its queue.
func TestEveryNumberOfACoalescer(t *testing.T) {
	c, err := seriestest.PlayValues("q")
	require.NoError(t, err)
	got := seriestest.Numbers(c.Queue())
	require.Subset(t, got, playedValues)
	require.Equal(t, 2.0, got["workqueue.depth"])
	require.Len(t, got, len(series.Numbers)-5, "no capacity of the queue, and no groups")
}

// TestMissingNumbers: a number that a queue does not have is missing, not zero.
func TestMissingNumbers(t *testing.T) {
	q, _ := seriestest.NewQueue("q")
	got := seriestest.Numbers(q)
	for _, name := range []string{"shardq.capacity.items", "shardq.groups", "shardq.throttled.groups"} {
		require.NotContains(t, got, name)
	}
	for name := range playedValues {
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

// TestHistograms: each histogram is read from its own field.
func TestHistograms(t *testing.T) {
	q := seriestest.Play("q")
	q.Done("a1")
	read := q.Stats()
	got := map[string][2]float64{}
	for _, h := range series.Histograms {
		durations := h.Read(read.Metrics)
		got[h.Name] = [2]float64{float64(durations.Count), durations.Sum.Seconds()}
	}
	require.Equal(t, map[string][2]float64{
		"workqueue.queue.duration": {1, 0},
		"workqueue.work.duration":  {1, 5},
		"shardq.delay":             {5, (2*time.Hour + time.Second + 15*time.Millisecond).Seconds()},
	}, got)
}

func TestGroups(t *testing.T) {
	reading := read(t, seriestest.Play("q"))
	got := map[string]int{}
	for part, items := range reading.Groups(2) {
		got[part.Group+" "+part.Of] = items
	}
	require.Equal(t, map[string]int{
		"a ready": 1, "a processing": 1, "a delayed": 0,
		"b ready": 0, "b processing": 0, "b delayed": 1,
		"other ready": 1, "other processing": 0, "other delayed": 0,
	}, got)
}

// TestAttempts: each result has its own number.
func TestAttempts(t *testing.T) {
	reading := read(t, seriestest.Play("q"))
	for result, durations := range reading.Stats.Metrics.Attempts.All() {
		require.Equal(t, seriestest.Attempts[result], durations.Count)
	}
	groups := reading.GroupAttempts(5)
	require.Len(t, groups, stats.Results)
	for result, want := range seriestest.Attempts {
		require.Equal(t, want, groups[registry.Part{Group: "a", Of: stats.Result(result).String()}])
	}
}

// TestDescriptions checks the conventions of names, units and texts.
func TestDescriptions(t *testing.T) {
	all := []series.Description{series.Failures, series.GroupItems, series.Attempts, series.AttemptDuration, series.GroupAttempts}
	for _, n := range series.Numbers {
		require.NotEqual(t, n.Integer == nil, n.Float == nil, n.Name)
		require.True(t, n.Integer != nil || n.Kind != series.Counter, "%s: no counter is a float", n.Name)
		all = append(all, n.Description)
	}
	for _, h := range series.Histograms {
		all = append(all, series.Description{Name: h.Name, Unit: "s", Text: h.Text})
	}
	for _, d := range all {
		require.Regexp(t, `^(workqueue|shardq)(\.[a-z_]+)+$`, d.Name)
		require.NotRegexp(t, `[._](total|seconds|ratio)$`, d.Name, "a name includes neither the unit nor the kind")
		require.Regexp(t, `^(s|1|\{[a-z]+\})$`, d.Unit, d.Name)
		require.Regexp(t, `^[A-Z1].*[^.]$`, d.Text, d.Name)
	}
}

// played has the numbers of the queue of seriestest.Play, without the skew, groups and
// histograms.
var played = map[string]float64{
	"workqueue.depth":                     3, // a1, a2, d
	"workqueue.adds":                      5,
	"workqueue.unfinished_work":           5,
	"workqueue.longest_running_processor": 5,
	"workqueue.retries":                   5,
	"shardq.ready.items":                  2,
	"shardq.processing.items":             1,
	"shardq.dirty.items":                  1,
	"shardq.delayed.items":                2,
	"shardq.held.items":                   4,
	"shardq.capacity.items":               4,
	"shardq.limiter.items":                1,
	"shardq.oldest.ready":                 5,
	"shardq.oldest.processing":            5,
	"shardq.workers":                      0,
	"shardq.parked.consumers":             0,
	"shardq.shards":                       2,
	"shardq.shutting_down":                0,
	"shardq.paused":                       0,
	"shardq.groups":                       3,
	"shardq.throttled.groups":             1,
	"shardq.rate_throttled.groups":        0,
	"shardq.pause_throttled.groups":       0,
	"shardq.deduplicated.adds":            1,
	"shardq.dropped.adds":                 0,
	"shardq.rejected.adds":                0,
	"shardq.canceled.adds":                1,
	"shardq.over_capacity.adds":           1,
	"shardq.misused.dones":                1,
	"shardq.expired.delays":               2,
	"shardq.backoffs":                     2,
	"shardq.discarded.items":              0,
	"shardq.outages":                      0,
	"shardq.outage.failures":              0,
}

// playedValues has the numbers of the Coalescer of seriestest.PlayValues,
// without those of the queue of its keys.
var playedValues = map[string]float64{
	"shardq.pending.keys":          2,
	"shardq.lingering.keys":        0,
	"shardq.pending.weight":        9,
	"shardq.pending.capacity":      5,
	"shardq.puts":                  6,
	"shardq.merged.puts":           4,
	"shardq.pending.over_capacity": 3,
}

// invented has the numbers of the queue of seriestest.Invent, without groups
// and histograms.
var invented = map[string]float64{
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
