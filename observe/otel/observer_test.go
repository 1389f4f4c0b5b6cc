package shardqotel_test

import (
	"context"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	shardqotel "github.com/shardq/shardq/observe/otel"
)

var q = attribute.String("workqueue.name", "q")

// TestEveryMetric: one of everything; each metric says its own number.
func TestEveryMetric(t *testing.T) {
	queue, fake := everything("q")
	w := newWatch(t, shardqotel.Options{Groups: 8}, queue)
	expect := func(name string, want float64, attributes ...attribute.KeyValue) {
		t.Helper()
		require.Equal(t, want, w.value(t, name, append(attributes, q)...), name)
	}
	queue.Add("a1")
	queue.Add("a2")
	queue.Add("a2") // merged
	queue.Get()
	queue.Add("a1") // dirty
	queue.AddAfter("b", time.Hour)
	queue.AddAfter("c", time.Second)
	queue.AddRateLimited("d")
	queue.AddRateLimited("d")
	queue.AddAfter("a1", time.Hour)
	fake.Step(2 * time.Second)
	require.True(t, queue.Cancel("c").Ready)
	queue.Done("nobody's")
	fake.Step(3 * time.Second)

	expect("workqueue.depth", 3)
	expect("workqueue.adds", 5)
	expect("workqueue.unfinished_work", 5)
	expect("workqueue.longest_running_processor", 5)
	expect("workqueue.retries", 5)
	expect("shardq.ready.items", 2)
	expect("shardq.processing.items", 1)
	expect("shardq.dirty.items", 1)
	expect("shardq.waiting.items", 2)
	expect("shardq.held.items", 4)
	expect("shardq.capacity.items", 4)
	expect("shardq.limiter.items", 1)
	expect("shardq.oldest.processing", 5)
	expect("shardq.workers", 0)
	expect("shardq.parked.consumers", 0)
	expect("shardq.shards", 2)
	expect("shardq.shutting_down", 0)
	expect("shardq.groups", 3)
	expect("shardq.held_back.groups", 1)
	expect("shardq.group.items", 1, attribute.String("shardq.group.name", "a"), attribute.String("shardq.item.state", "ready"))
	expect("shardq.group.items", 1, attribute.String("shardq.group.name", "a"), attribute.String("shardq.item.state", "processing"))
	expect("shardq.group.items", 1, attribute.String("shardq.group.name", "b"), attribute.String("shardq.item.state", "waiting"))
	expect("shardq.merged.adds", 1)
	expect("shardq.canceled.adds", 1)
	expect("shardq.exceeding.adds", 1)
	expect("shardq.misused.dones", 1)
	expect("shardq.ended.delays", 2)
	expect("shardq.backoffs", 2)
	expect("shardq.give_ups", 0)
	expect("shardq.failed.readings", 0)
	queue.ShutDown()
	expect("shardq.shutting_down", 1)
	expect("shardq.dropped.adds", 2)
}

func TestOldestReadyAndSkew(t *testing.T) {
	fake := clock.NewFake(time.Unix(1, 0))
	queue := shardq.Must(shardq.Options[int]{Name: "q", Shards: 4, Metrics: true, Clock: fake, Hash: func(int) uint64 { return 0 }})
	w := newWatch(t, shardqotel.Options{}, queue)
	queue.Add(1)
	fake.Step(time.Second)
	require.Equal(t, 1.0, w.value(t, "shardq.oldest.ready", q))
	require.Equal(t, 4.0, w.value(t, "shardq.shard.skew", q))
}

// TestNamesAndUnits: they follow the conventions.
func TestNamesAndUnits(t *testing.T) {
	queue, _ := everything("q")
	queue.Add("a")
	all := newWatch(t, shardqotel.Options{Groups: 1}, queue).collect(t)
	require.NotEmpty(t, all)
	for name, m := range all {
		require.Regexp(t, regexp.MustCompile(`^(workqueue|shardq)(\.[a-z_]+)+$`), name)
		require.NotRegexp(t, `[._](total|seconds|ratio)$`, name, "neither the unit nor the kind is part of a name")
		require.Regexp(t, `^(s|1|\{[a-z]+\})$`, m.Unit, name)
		require.Regexp(t, `^(\w.*)\.$`, m.Description, name)
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			require.Equal(t, metricdata.CumulativeTemporality, sum.Temporality)
		}
	}
}

func TestErrors(t *testing.T) {
	_, err := shardqotel.NewObserver(shardqotel.Options{Groups: -1})
	require.EqualError(t, err, "shardqotel: Options.Groups is -1: want 0 (none) or more")
	a, _ := newQueue("a")
	again, _ := newQueue("a")
	_, err = shardqotel.NewObserver(shardqotel.Options{}, a, again)
	require.EqualError(t, err, `shardqotel: the name "a" is taken by another queue: names must differ`)
	o, err := shardqotel.NewObserver(shardqotel.Options{}, a)
	require.NoError(t, err)
	require.ErrorContains(t, o.Add(shardq.Must(shardq.Options[string]{Name: "plain"})), "set Options.Metrics")
	require.NoError(t, o.AddAs("b", again))
	_, err = o.Register(nil)
	require.EqualError(t, err, "shardqotel: the provider is nil")
}

func TestUnregister(t *testing.T) {
	queue, _ := newQueue("q")
	w := newWatch(t, shardqotel.Options{}, queue)
	require.Contains(t, w.collect(t), "workqueue.depth")
	require.NoError(t, w.end())
	require.NotContains(t, w.collect(t), "workqueue.depth")
	require.Contains(t, w.collect(t), "workqueue.queue.duration", "the producer is the reader's")
	require.True(t, w.Remove("q"))
	require.Empty(t, w.collect(t))
}

func TestClosedQueueDisappears(t *testing.T) {
	queue, _ := newQueue("q")
	w := newWatch(t, shardqotel.Options{}, queue)
	queue.Add("a")
	queue.ShutDown()
	require.Equal(t, 1.0, w.value(t, "workqueue.depth", q))
	item, _ := queue.Get()
	queue.Done(item)
	require.Empty(t, w.collect(t))
	require.False(t, w.Remove("q"))
}

func TestClosedQueueIsLetGo(t *testing.T) {
	w := newWatch(t, shardqotel.Options{})
	gone := addClosed(t, w)
	w.collect(t)
	for range 10 { // what was looked at last may be on a stack yet
		runtime.GC()
	}
	require.Nil(t, gone.Value())
	runtime.KeepAlive(w)
}

func addClosed(t *testing.T, w watch) weak.Pointer[shardq.Queue[string]] {
	queue, _ := newQueue("q")
	require.NoError(t, w.Add(queue))
	w.collect(t)
	queue.ShutDown()
	return weak.Make(queue)
}

// TestCollectsBesideWorkers: collections, queues that come and go, and eight workers, all at once.
func TestCollectsBesideWorkers(t *testing.T) {
	busy := shardq.Must(shardq.Options[int]{Name: "busy", Metrics: true})
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
			brief, _ := newQueue("brief")
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
