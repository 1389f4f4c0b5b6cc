package shardqotel_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/series/seriestest"
	shardqotel "github.com/shardq/shardq/observe/otel"
	"github.com/shardq/shardq/stats"
)

var q = attribute.String("workqueue.name", "q")

// TestEveryMetric checks that each metric has its own number, and that there
// are no others.
func TestEveryMetric(t *testing.T) {
	w := newWatch(t, shardqotel.Options{Groups: 8}, seriestest.Invent("q"))
	all := w.collect(t)
	for name, want := range seriestest.Invented {
		require.Equal(t, want, value(t, all, name, q), name)
	}
	require.Equal(t, 0.0, value(t, all, "shardq.failed.readings", q))
	for group, state := range map[string]string{"a": "processing", "b": "delayed", "d": "ready"} {
		require.Equal(t, 1.0, value(t, all, "shardq.group.items",
			q, attribute.String("shardq.group.name", group), attribute.String("shardq.item.state", state)))
	}
	for result, want := range seriestest.Attempts {
		label := attribute.String("shardq.attempt.result", stats.Result(result).String())
		require.EqualValues(t, want, value(t, all, "shardq.attempts", q, label))
		require.EqualValues(t, want, value(t, all, "shardq.group.attempts", q, label, attribute.String("shardq.group.name", "a")))
	}
	require.Len(t, all, len(seriestest.Invented)+8, "and the failed readings, the groups, the attempts, and four histograms")
}

// TestEveryMetricOfACoalescer checks the metrics of the pending values beside
// those of the queue of keys.
func TestEveryMetricOfACoalescer(t *testing.T) {
	c, err := seriestest.PlayValues("q")
	require.NoError(t, err)
	all := newWatch(t, shardqotel.Options{}, c.Queue()).collect(t)
	for name, want := range seriestest.PlayedValues {
		require.Equal(t, want, value(t, all, name, q), name)
	}
	require.Equal(t, 2.0, value(t, all, "workqueue.depth", q))
}

// TestMissingMetrics checks that a value that a queue does not have is missing,
// not zero.
func TestMissingMetrics(t *testing.T) {
	queue, _ := seriestest.NewQueue("q")
	all := newWatch(t, shardqotel.Options{Groups: 1}, queue).collect(t)
	for _, name := range []string{"shardq.capacity.items", "shardq.groups", "shardq.throttled.groups", "shardq.group.items", "shardq.group.attempts", "shardq.attempt.duration"} {
		require.NotContains(t, all, name)
	}
	for name := range seriestest.PlayedValues {
		require.NotContains(t, all, name)
	}
}

// TestKindsAndUnits checks that each instrument has the kind that fits its
// number.
func TestKindsAndUnits(t *testing.T) {
	all := newWatch(t, shardqotel.Options{Groups: 1}, seriestest.Play("q")).collect(t)
	kinds := map[string]string{}
	for name, m := range all {
		require.Regexp(t, `\.$`, m.Description, name)
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			require.Equal(t, metricdata.CumulativeTemporality, data.Temporality)
			kinds[name] = map[bool]string{true: "counter", false: "level"}[data.IsMonotonic] + " in " + m.Unit
		case metricdata.Sum[float64]:
			require.False(t, data.IsMonotonic)
			kinds[name] = "level in " + m.Unit
		case metricdata.Gauge[float64]:
			kinds[name] = "gauge in " + m.Unit
		}
	}
	require.Subset(t, kinds, map[string]string{
		"workqueue.depth": "level in {item}", "workqueue.adds": "counter in {add}", "workqueue.unfinished_work": "level in s",
		"shardq.oldest.ready": "gauge in s", "shardq.shard.skew": "gauge in 1", "shardq.failed.readings": "counter in {reading}",
		"shardq.group.items": "level in {item}",
	})
	require.Len(t, kinds, len(all)-4, "the histograms")
}

func TestErrors(t *testing.T) {
	_, err := shardqotel.NewObserver(shardqotel.Options{Groups: -1})
	require.EqualError(t, err, "shardqotel: Options.Groups is -1: want 0 (none) or more")
	a, _ := seriestest.NewQueue("a")
	again, _ := seriestest.NewQueue("a")
	_, err = shardqotel.NewObserver(shardqotel.Options{}, a, again)
	require.EqualError(t, err, `shardqotel: the name "a" is taken by another queue: names must differ`)
	o, err := shardqotel.NewObserver(shardqotel.Options{}, a)
	require.NoError(t, err)
	require.ErrorContains(t, o.Add(shardq.MustNew(shardq.Options[string]{Name: "plain"})), "set Options.Metrics")
	require.NoError(t, o.AddAs("b", again))
	_, err = o.Register(nil)
	require.EqualError(t, err, "shardqotel: the provider is nil")
}

func TestUnregister(t *testing.T) {
	queue, _ := seriestest.NewQueue("q")
	w := newWatch(t, shardqotel.Options{}, queue)
	require.Contains(t, w.collect(t), "workqueue.depth")
	require.NoError(t, w.end())
	require.NotContains(t, w.collect(t), "workqueue.depth")
	require.Contains(t, w.collect(t), "workqueue.queue.duration", "the producer is the reader's")
	require.True(t, w.Remove("q"))
	require.Empty(t, w.collect(t))
}

func TestClosedQueueDisappears(t *testing.T) {
	queue, _ := seriestest.NewQueue("q")
	w := newWatch(t, shardqotel.Options{}, queue)
	queue.Add("a")
	queue.ShutDown()
	require.Equal(t, 1.0, w.value(t, "workqueue.depth", q))
	item, _ := queue.Get()
	queue.Done(item)
	require.Empty(t, w.collect(t))
	require.False(t, w.Remove("q"))
}

func TestClosedQueueIsReleased(t *testing.T) {
	w := newWatch(t, shardqotel.Options{})
	gone := addClosed(t, w)
	w.collect(t)
	require.True(t, seriestest.Collected(gone))
	runtime.KeepAlive(w)
}

func addClosed(t *testing.T, w watch) weak.Pointer[shardq.Queue[string]] {
	queue, _ := seriestest.NewQueue("q")
	require.NoError(t, w.Add(queue))
	w.collect(t)
	queue.ShutDown()
	return weak.Make(queue)
}

// TestCollectsBesideWorkers runs collections, changes of the queues, and eight
// workers concurrently.
func TestCollectsBesideWorkers(t *testing.T) {
	busy := shardq.MustNew(shardq.Options[int]{Name: "busy", Metrics: true})
	w := newWatch(t, shardqotel.Options{Groups: 2}, busy)
	worked := make(chan error)
	go func() { worked <- busy.Run(context.Background(), 8, func(context.Context, int) error { return nil }) }()
	over := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for !closed(over) {
			var all metricdata.ResourceMetrics
			if err := w.reader.Collect(context.Background(), &all); err != nil {
				t.Errorf("a collection failed: %v", err)
			}
		}
	})
	others.Go(func() {
		for !closed(over) {
			brief, _ := seriestest.NewQueue("brief")
			if err := w.Add(brief); err != nil {
				t.Errorf("the name is free: %v", err)
			}
			brief.ShutDown()
		}
	})
	for n := range 5000 {
		busy.Add(n % 64)
	}
	_, err := busy.Drain(t.Context(), shardq.DrainOptions{})
	require.NoError(t, err)
	require.NoError(t, <-worked)
	close(over)
	others.Wait()
	require.Empty(t, w.collect(t), "all are closed")
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
