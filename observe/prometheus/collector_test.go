package shardqprom_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/series/seriestest"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
	"github.com/shardq/shardq/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newCollector(t testing.TB, options shardqprom.Options, queues ...shardq.Inspector) *shardqprom.Collector {
	c, err := shardqprom.NewCollector(options, queues...)
	require.NoError(t, err)
	return c
}

// gather scrapes a collector with a pedantic registry, and returns the families
// by name.
func gather(t testing.TB, c prometheus.Collector) map[string]*dto.MetricFamily {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	return gatherFrom(t, registry)
}

func gatherFrom(t testing.TB, from prometheus.Gatherer) map[string]*dto.MetricFamily {
	families, err := from.Gather()
	require.NoError(t, err)
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

// find returns the metric of a family with these labels, each written as
// name=value.
func find(t testing.TB, family *dto.MetricFamily, labels ...string) *dto.Metric {
	for _, m := range family.GetMetric() {
		if hasAll(m, labels) {
			return m
		}
	}
	require.Fail(t, "no such series", "%s %v", family.GetName(), labels)
	return nil
}

func hasAll(m *dto.Metric, labels []string) bool {
	has := labelsOf(m)
	return !slices.ContainsFunc(labels, func(label string) bool {
		name, value, _ := strings.Cut(label, "=")
		return has[name] != value
	})
}

func labelsOf(m *dto.Metric) map[string]string {
	all := map[string]string{}
	for _, l := range m.GetLabel() {
		all[l.GetName()] = l.GetValue()
	}
	return all
}

// value returns the value of a counter or a gauge.
func value(t testing.TB, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	require.Contains(t, families, name)
	m := find(t, families[name], labels...)
	if m.Counter != nil {
		return m.Counter.GetValue()
	}
	return m.Gauge.GetValue()
}

// TestNamesMustDiffer: see package registry for more.
func TestNamesMustDiffer(t *testing.T) {
	_, err := shardqprom.NewCollector(shardqprom.Options{Style: 2, Groups: -1})
	require.ErrorContains(t, err, "Options.Style is 2: want Kubernetes or ControllerRuntime")
	require.ErrorContains(t, err, "Options.Groups is -1: want 0 (none) or more")
	a, _ := seriestest.NewQueue("a")
	again, _ := seriestest.NewQueue("a")
	_, err = shardqprom.NewCollector(shardqprom.Options{}, a, again)
	require.EqualError(t, err, `shardqprom: the name "a" is taken by another queue: names must differ`)
	c := newCollector(t, shardqprom.Options{}, a)
	require.ErrorContains(t, c.Add(shardq.MustNew(shardq.Options[string]{Name: "plain"})), `queue "plain" keeps no metrics: set Options.Metrics`)
	require.NoError(t, c.AddAs("another a", again))
	require.Len(t, gather(t, c)["workqueue_depth"].GetMetric(), 2)
	require.True(t, c.Remove("a"))
	require.NoError(t, c.Add(a))
}

// TestClosedQueuesAreReleased checks that a scrape drops the references to a
// closed queue, and that closed queues do not pile up without scrapes.
func TestClosedQueuesAreReleased(t *testing.T) {
	for _, scraped := range []bool{true, false} {
		c := newCollector(t, shardqprom.Options{})
		add := func(name string) weak.Pointer[shardq.Queue[string]] {
			q, _ := seriestest.NewQueue(name)
			require.NoError(t, c.Add(q))
			q.ShutDown()
			return weak.Make(q)
		}
		first := add("first")
		if scraped {
			gather(t, c)
		}
		for n := 0; n < 64 && !scraped; n++ {
			add(fmt.Sprint("queue ", n))
		}
		require.True(t, collected(first))
		runtime.KeepAlive(c)
	}
}

// A watched queue counts its readings, and panics while its test wants that.
type watched struct {
	shardq.Inspector
	reads  int
	panics bool
}

func (w *watched) Stats() shardq.Stats {
	if w.reads++; w.panics {
		panic("the clock is broken")
	}
	return w.Inspector.Stats()
}

// TestOneReadingPerScrape checks also that a failed one is counted, and hides no
// other queue.
func TestOneReadingPerScrape(t *testing.T) {
	q, _ := seriestest.Everything("q")
	sound, _ := seriestest.NewQueue("sound")
	w := &watched{Inspector: q}
	c := newCollector(t, shardqprom.Options{Groups: 3}, w, sound)
	require.Len(t, gather(t, c)["workqueue_depth"].GetMetric(), 2)
	require.Equal(t, 1, w.reads)
	w.panics = true
	families := gather(t, c)
	require.Equal(t, 1.0, value(t, families, "shardq_failed_readings_total", "name=q"))
	require.Equal(t, 0.0, value(t, families, "shardq_failed_readings_total", "name=sound"))
	require.Len(t, families["workqueue_depth"].GetMetric(), 1)
	w.panics = false
	require.Len(t, gather(t, c)["workqueue_depth"].GetMetric(), 2)
}

// TestRegistersOnce checks also that an unchecked collector registers beside
// the same names, as long as the help texts and labels are equal.
func TestRegistersOnce(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	q, _ := seriestest.Everything("q")
	c := newCollector(t, shardqprom.Options{Groups: 1}, q)
	require.NoError(t, registry.Register(c))
	require.ErrorAs(t, registry.Register(c), new(prometheus.AlreadyRegisteredError))
	require.ErrorContains(t, registry.Register(newCollector(t, shardqprom.Options{})), "already exists")
	gatherFrom(t, registry)
	require.True(t, registry.Unregister(c))
	require.Empty(t, gatherFrom(t, registry))

	theirs := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workqueue_adds_total", Help: "[BETA] Total number of adds handled by workqueue",
	}, []string{"name"})
	theirs.WithLabelValues("theirs").Inc()
	registry.MustRegister(theirs)
	require.ErrorContains(t, registry.Register(newCollector(t, shardqprom.Options{}, q)), "already exists")
	require.NoError(t, registry.Register(newCollector(t, shardqprom.Options{Unchecked: true}, q)))
	families := gatherFrom(t, registry)
	require.Equal(t, 1.0, value(t, families, "workqueue_adds_total", "name=theirs"))
	require.Equal(t, 0.0, value(t, families, "workqueue_adds_total", "name=q"))
}

// TestStyles checks the labels of both styles, and the names against the rules
// of Prometheus.
func TestStyles(t *testing.T) {
	q, _ := seriestest.Everything("q")
	q.Add("a")
	for style, labels := range map[shardqprom.Style][]string{
		shardqprom.Kubernetes: {"name=q"}, shardqprom.ControllerRuntime: {"name=q", "controller=q"},
	} {
		c := newCollector(t, shardqprom.Options{Style: style, Groups: 1}, q)
		problems, err := testutil.CollectAndLint(c)
		require.NoError(t, err)
		require.Empty(t, problems)
		for name, f := range gather(t, c) {
			find(t, f, labels...)
			hasPriority := style == shardqprom.ControllerRuntime && name == "workqueue_depth"
			require.Equal(t, hasPriority, strings.Contains(f.String(), "priority"), name)
			require.Equal(t, style == shardqprom.ControllerRuntime, strings.Contains(f.String(), "controller"), name)
		}
	}
}

// TestEverySeries checks that each series has its own number, and that there
// are no others.
func TestEverySeries(t *testing.T) {
	q := seriestest.Invent("q")
	families := gather(t, newCollector(t, shardqprom.Options{Groups: 8}, q))
	requireNumbers(t, families, seriestest.Numbers(q))
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
	require.Len(t, families, len(seriestest.Numbers(q))+8, "and the failed readings, the groups, the attempts, and four histograms")

	c, err := seriestest.PlayValues("values")
	require.NoError(t, err)
	families = gather(t, newCollector(t, shardqprom.Options{}, c.Queue()))
	requireNumbers(t, families, seriestest.Numbers(c.Queue()))
	for _, name := range []string{"shardq_capacity_items", "shardq_groups", "shardq_group_items", "shardq_group_attempts_total", "shardq_attempt_duration_seconds"} {
		require.NotContains(t, families, name, "what the queue does not have is missing, not zero")
	}
	require.Equal(t, 0.0, value(t, families, "shardq_attempts_total", "result=panic"), "before the first")
}

// requireNumbers compares the numbers, by their names in OpenTelemetry.
func requireNumbers(t *testing.T, families map[string]*dto.MetricFamily, want map[string]float64) {
	for name, number := range want {
		name := strings.ReplaceAll(name, ".", "_")
		for _, ending := range []string{"", "_seconds", "_ratio", "_total"} {
			if f := families[name+ending]; f != nil {
				require.Equal(t, number, value(t, families, name+ending), name)
				require.Equal(t, ending == "_total", f.GetType() == dto.MetricType_COUNTER, name)
				number = -1
			}
		}
		require.Equal(t, -1.0, number, "no series for %s", name)
	}
}

// grouped returns a queue with items. The group of an item is the part before
// the slash.
func grouped(t *testing.T, items ...string) *shardq.Queue[string] {
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Group: func(item string) string {
		group, _, _ := strings.Cut(item, "/")
		return group
	}})
	for _, item := range items {
		q.Add(item)
	}
	return q
}

// readyByGroup returns the ready items of each group in a scrape.
func readyByGroup(t *testing.T, limit int, q shardq.Inspector) map[string]float64 {
	shown := map[string]float64{}
	family := gather(t, newCollector(t, shardqprom.Options{Groups: limit}, q))["shardq_group_items"]
	for _, m := range family.GetMetric() {
		if labels := labelsOf(m); labels["state"] == "ready" {
			shown[labels["group"]] = m.Gauge.GetValue()
		}
	}
	return shown
}

func TestSources(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Merge: func(pending, next int) int { return pending + next }, Queue: shardq.Options[string]{Name: "clicks", Metrics: true},
	})
	defer c.ShutDown()
	log, err := c.NewSource("log", 100)
	require.NoError(t, err)
	require.NoError(t, log.Skip(102))
	require.NoError(t, log.Put("a", 1, 105))
	require.NoError(t, log.Put("a", 1, 107))
	families := gather(t, newCollector(t, shardqprom.Options{}, c))
	for name, want := range map[string]float64{"read": 107, "safe": 105, "events": 2} {
		require.Equal(t, want, value(t, families, "shardq_source_"+name, "source=log"))
	}
	require.Less(t, value(t, families, "shardq_source_oldest_seconds", "source=log"), 60.0)
}

// TestLargestGroups checks that the largest groups are found, and that no name
// of a group fails a scrape: a name is cut at a whole character, and each run
// of invalid bytes is replaced by one.
func TestLargestGroups(t *testing.T) {
	q := grouped(t, "a/1", "b/1", "b/2", "c/1", "c/2", "c/3", "d/1", "d/2")
	require.Equal(t, map[string]float64{"c": 3, "other": 5}, readyByGroup(t, 1, q))
	require.Equal(t, map[string]float64{"a": 1, "b": 2, "c": 3, "d": 2, "other": 0}, readyByGroup(t, 4, q))
	q = grouped(t, "other/1", "other/2", "other/3", "a/1", "a/2", "b/1")
	require.Equal(t, map[string]float64{"a": 2, "other": 4}, readyByGroup(t, 2, q), "a group named other")
	long, filler := strings.Repeat("é", 1000), strings.Repeat("a", 126)
	q = grouped(t, "\xff/1", "\xfe/1", long+"a/1", long+"b/1", "/1", "a\x00\n\"/1")
	require.Equal(t, map[string]float64{"\uFFFD": 2, long[:128]: 2, "": 1, "a\x00\n\"": 1, "other": 0}, readyByGroup(t, 100, q))
	for name, want := range map[string]string{
		filler + "bbc": filler + "bb", filler + "bé": filler + "b", filler + "éc": filler + "é", filler + "😀": filler,
		filler + "\xff\xff\xff": filler, filler[:125] + "\uFFFDc": filler[:125] + "\uFFFD", strings.Repeat("a\xff", 100): strings.Repeat("a\uFFFD", 32),
	} {
		require.Contains(t, readyByGroup(t, 1, grouped(t, name+"/1")), want, "%q", name)
	}
}

// TestScrapesBesideChanges: queues come, work and go beside scrapes, and no counter
// goes down.
func TestScrapesBesideChanges(t *testing.T) {
	busy, _ := seriestest.NewQueue("busy")
	c := newCollector(t, shardqprom.Options{}, busy)
	var all sync.WaitGroup
	all.Go(func() {
		for n := range 300 {
			brief, _ := seriestest.NewQueue("brief")
			assert.NoError(t, c.Add(brief), "the name is free")
			if n%2 == 0 {
				c.Remove("brief")
			}
			brief.ShutDown()
			busy.Add(fmt.Sprint(n))
		}
		busy.ShutDown()
	})
	for adds := 0.0; !busy.ShuttingDown(); {
		now := value(t, gather(t, c), "workqueue_adds_total", "name=busy")
		require.GreaterOrEqual(t, now, adds)
		adds = now
	}
	all.Wait()
}

// collected reports whether the target of a weak pointer has been collected as
// garbage.
func collected[T any](gone weak.Pointer[T]) bool {
	for range 10 { // a stack may still refer to the target
		runtime.GC()
	}
	return gone.Value() == nil
}
