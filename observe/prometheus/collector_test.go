package shardqprom_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/series/seriestest"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

func TestNamesMustDiffer(t *testing.T) {
	a, _ := seriestest.NewQueue("a")
	again, _ := seriestest.NewQueue("a")
	nameless, _ := seriestest.NewQueue("")
	broken, _ := seriestest.NewQueue("\xff")
	plain := shardq.MustNew(shardq.Options[string]{Name: "plain"})
	fresh, _ := seriestest.NewQueue("fresh")

	_, err := shardqprom.NewCollector(shardqprom.Options{}, a, again)
	require.EqualError(t, err, `shardqprom: the name "a" is taken by another queue: names must differ`)

	c := newCollector(t, shardqprom.Options{}, a)
	require.ErrorContains(t, c.Add(fresh, again), `the name "a" is taken`)
	require.ErrorContains(t, c.Add(fresh, nameless), "has no name")
	require.ErrorContains(t, c.Add(fresh, broken), "not valid UTF-8")
	require.ErrorContains(t, c.Add(fresh, nil), "a queue is nil")
	require.ErrorContains(t, c.Add(fresh, plain), `queue "plain" keeps no metrics: set Options.Metrics`)
	err = c.Add(nameless, plain)
	require.ErrorContains(t, err, "has no name")
	require.ErrorContains(t, err, "keeps no metrics")
	require.Len(t, gather(t, c)["workqueue_depth"].GetMetric(), 1, "all or none")

	require.NoError(t, c.AddAs("another a", again))
	require.NoError(t, c.AddAs("nameless", nameless))
	require.ErrorContains(t, c.AddAs("a", fresh), "taken")
	require.Len(t, gather(t, c)["workqueue_depth"].GetMetric(), 3)
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := shardqprom.NewCollector(shardqprom.Options{Style: 2, Groups: -1})
	require.ErrorContains(t, err, "Options.Style is 2: want Kubernetes or ControllerRuntime")
	require.ErrorContains(t, err, "Options.Groups is -1: want 0 (none) or more")
}

func TestRemove(t *testing.T) {
	a, _ := seriestest.NewQueue("a")
	c := newCollector(t, shardqprom.Options{}, a)
	require.True(t, c.Remove("a"))
	require.False(t, c.Remove("a"))
	require.Empty(t, gather(t, c))
	require.NoError(t, c.Add(a))
	require.NotEmpty(t, gather(t, c))
}

func TestClosedQueueDisappears(t *testing.T) {
	q, _ := seriestest.NewQueue("q")
	c := newCollector(t, shardqprom.Options{}, q)
	q.Add("ready")
	q.AddAfter("delayed", time.Minute)
	q.ShutDown()
	require.Equal(t, 1.0, value(t, gather(t, c), "shardq_shutting_down"), "there is something ready")
	item, _ := q.Get()
	require.Equal(t, 1.0, value(t, gather(t, c), "shardq_processing_items"))
	q.Done(item)
	require.Empty(t, gather(t, c))
	require.False(t, c.Remove("q"))
}

// TestDrainIsWatched checks that a queue is exported while a drain awaits its
// delayed items.
func TestDrainIsWatched(t *testing.T) {
	q, fake := seriestest.NewQueue("q")
	c := newCollector(t, shardqprom.Options{}, q)
	q.AddAfter("a", time.Minute)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := q.Drain(ended, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
	require.Error(t, err)
	families := gather(t, c)
	require.Equal(t, 1.0, value(t, families, "shardq_delayed_items"))
	require.Equal(t, 1.0, value(t, families, "shardq_shutting_down"))
	fake.Step(time.Minute)
	item, _ := q.Get()
	fake.Step(time.Second)
	families = gather(t, c)
	require.Equal(t, 1.0, value(t, families, "shardq_oldest_processing_seconds"))
	require.Equal(t, 0.0, value(t, families, "workqueue_longest_running_processor_seconds"), "as when the shutdown began")
	q.Done(item)
	require.Empty(t, gather(t, c))
}

func TestNameOfClosedQueueIsFree(t *testing.T) {
	old, _ := seriestest.NewQueue("q")
	c := newCollector(t, shardqprom.Options{}, old)
	fresh, _ := seriestest.NewQueue("q")
	require.Error(t, c.Add(fresh))
	old.ShutDown()
	require.NoError(t, c.Add(fresh))
	fresh.Add("a")
	require.Equal(t, 1.0, value(t, gather(t, c), "workqueue_depth"))
}

// TestClosedQueueIsReleased checks that a scrape drops the references to a
// closed queue.
func TestClosedQueueIsReleased(t *testing.T) {
	c := newCollector(t, shardqprom.Options{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	gone := addClosed(t, c, "q")
	gatherFrom(t, registry)
	require.True(t, seriestest.Collected(gone))
}

// TestClosedQueuesAreReleasedWithoutScrapes checks that closed queues do not
// pile up without scrapes.
func TestClosedQueuesAreReleasedWithoutScrapes(t *testing.T) {
	c := newCollector(t, shardqprom.Options{})
	first := addClosed(t, c, "first")
	for n := range 64 {
		addClosed(t, c, fmt.Sprint("queue ", n))
	}
	require.True(t, seriestest.Collected(first))
	runtime.KeepAlive(c)
}

func addClosed(t *testing.T, c *shardqprom.Collector, name string) weak.Pointer[shardq.Queue[string]] {
	q, _ := seriestest.NewQueue(name)
	require.NoError(t, c.Add(q))
	q.ShutDown()
	return weak.Make(q)
}

// A panicking clock panics while its test wants that.
type panickingClock struct {
	*clock.Fake
	panics bool
}

func (c *panickingClock) Now() time.Time {
	if c.panics {
		panic("the clock is broken")
	}
	return c.Fake.Now()
}

// TestPanicFailsOneQueue checks that the other queues are exported, and the
// failure is counted.
func TestPanicFailsOneQueue(t *testing.T) {
	broken := &panickingClock{Fake: clock.NewFake(time.Unix(1, 0))}
	q := shardq.MustNew(shardq.Options[string]{Name: "broken", Clock: broken, Metrics: true})
	sound, _ := seriestest.NewQueue("sound")
	c := newCollector(t, shardqprom.Options{}, q, sound)
	require.Equal(t, 0.0, value(t, gather(t, c), "shardq_failed_readings_total", "name=broken"))
	broken.panics = true
	gather(t, c)
	families := gather(t, c)
	require.Equal(t, 2.0, value(t, families, "shardq_failed_readings_total", "name=broken"))
	require.Equal(t, 0.0, value(t, families, "shardq_failed_readings_total", "name=sound"))
	require.Len(t, families["workqueue_depth"].GetMetric(), 1)
	broken.panics = false
	require.Len(t, gather(t, c)["workqueue_depth"].GetMetric(), 2)
}

// A counted queue counts its readings.
type counted struct {
	shardq.Inspector
	stats *int
}

func (c counted) Stats() shardq.Stats { *c.stats++; return c.Inspector.Stats() }

func TestOneReadingPerScrape(t *testing.T) {
	q, _ := seriestest.Everything("q")
	reads := 0
	c := newCollector(t, shardqprom.Options{Groups: 3}, counted{q, &reads})
	gather(t, c)
	require.Equal(t, 1, reads)
	gather(t, c)
	require.Equal(t, 2, reads)
}

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
}

// TestLint checks the names against the rules of Prometheus.
func TestLint(t *testing.T) {
	for _, style := range []shardqprom.Style{shardqprom.Kubernetes, shardqprom.ControllerRuntime} {
		q, _ := seriestest.Everything("q")
		q.Add("a")
		c := newCollector(t, shardqprom.Options{Style: style, Groups: 1}, q)
		problems, err := testutil.CollectAndLint(c)
		require.NoError(t, err)
		require.Empty(t, problems)
	}
}

func TestLabels(t *testing.T) {
	q, _ := seriestest.Everything("q")
	q.Add("a")
	for _, f := range gather(t, newCollector(t, shardqprom.Options{Groups: 1}, q)) {
		find(t, f, "name=q")
		require.NotContains(t, f.String(), "controller")
	}
	for name, f := range gather(t, newCollector(t, shardqprom.Options{Style: shardqprom.ControllerRuntime, Groups: 1}, q)) {
		find(t, f, "name=q", "controller=q")
		if name == "workqueue_depth" {
			find(t, f, "priority=")
		} else {
			require.NotContains(t, f.String(), "priority")
		}
	}
}
