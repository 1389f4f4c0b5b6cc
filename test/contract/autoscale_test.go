package contract

import (
	"context"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// The decisions are tested in package worker, over recorded traffic. Here a
// pool grows with the load of its queue, shrinks after it, and ends.
func TestC81PoolFollowsTheLoad(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Ages: true})
		pool := startPool(t, q, worker.Options[int]{Workers: 1, Handle: func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		}})
		var resizes []worker.Resize
		scaler, err := worker.NewAutoscaler(pool.Pool, worker.AutoscaleOptions{
			Min: 2, Max: 30, TargetAge: 5 * time.Second,
			OnResize: func(r worker.Resize) { resizes = append(resizes, r) },
		})
		require.NoError(t, err)
		ended := returned(func() { scaler.Run(t.Context()) })
		synctest.Wait()
		require.Equal(t, 2, pool.Len(), "at least Min")

		q.AddBatch(numbers(400))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.Equal(t, 30, pool.Len())
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, 2, pool.Len())
		requireCounts(t, q, 0, 0, 0)
		require.Equal(t, 2, resizes[0].To)
		require.Less(t, len(resizes), 12)

		pool.Resize(50) // by another caller
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, 30, pool.Len(), "at most Max")
		q.ShutDown()
		synctest.Wait()
		pool.stopPool(t)
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, ended(), "it ends with the pool")
	})
}

// Items that more workers could not serve make no pool grow, beside others that
// keep 4 workers busy. Those that they could serve do.
func TestC81ThrottledGroupsMoveNothing(t *testing.T) {
	for _, test := range []struct {
		name    string
		workers int // for the load, with that of the group
		backlog int // of the group t
		pause   bool
	}{
		{name: "no group", workers: 6},
		{name: "paused", workers: 6, backlog: 1, pause: true},
		{name: "at its limit", workers: 10, backlog: 2000},
	} {
		forEachShardCountInBubble(t, func(t *testing.T, shards int) {
			q := shardq.MustNew(shardq.Options[string]{
				Shards: shards, Ages: true, Group: func(item string) string { return item[:1] },
				GroupLimitOf: func(group string) int { return map[string]int{"t": 3}[group] },
			})
			if test.pause {
				q.PauseGroup("t", time.Time{})
			}
			pool := startPool(t, q, worker.Options[string]{Workers: test.workers, Handle: func(context.Context, string) error {
				time.Sleep(time.Second)
				return nil
			}})
			time.Sleep(100 * time.Millisecond) // so that no item ends at a sample
			q.AddBatch(namesIn("t", test.backlog))
			go addEach(q, namesIn("b", 4*600), 250*time.Millisecond)
			time.Sleep(1900 * time.Millisecond)

			resizes := 0
			scaler, err := worker.NewAutoscaler(pool.Pool, worker.AutoscaleOptions{
				Min: 1, Max: 100, TargetAge: 5 * time.Second, OnResize: func(worker.Resize) { resizes++ },
			})
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			go scaler.Run(ctx)
			time.Sleep(9 * time.Minute)
			synctest.Wait()
			require.Zero(t, resizes, test.name)
			require.Equal(t, test.backlog > 0, q.Stats().Throttled > 0, test.name)

			q.AddBatch(namesIn("c", 1000)) // a backlog beside the group
			time.Sleep(15 * time.Second)
			synctest.Wait()
			require.Greater(t, pool.Len(), 3*test.workers, test.name)
			stop()
			pool.stop()
			q.ShutDown()
			time.Sleep(time.Minute)
			synctest.Wait()
			pool.stopPool(t)
		})
	}
}

// namesIn returns n items of a group.
func namesIn(group string, n int) (items []string) {
	for i := range n {
		items = append(items, group+strconv.Itoa(i))
	}
	return items
}

// addEach adds one item after the other.
func addEach(q *shardq.Queue[string], items []string, every time.Duration) {
	for _, item := range items {
		q.Add(item)
		time.Sleep(every)
	}
}

// Load counts the ready items that more workers would get.
func TestC81LoadIsWhatWorkersCanServe(t *testing.T) {
	type load struct{ ready, processing, oldest int }
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{
		Shards: 1, Clock: fake, Ages: true, Group: func(item string) string { return item[:1] },
		GroupLimitOf: func(group string) int { return map[string]int{"l": 2}[group] },
		GroupRate: func(group string) shardq.Rate {
			return map[string]shardq.Rate{"r": {PerSecond: 0.001, Burst: 2}}[group]
		},
	})
	requireLoad := func(want load) {
		t.Helper()
		got := q.Load()
		require.Equal(t, want, load{got.Ready, got.Processing, int(got.Oldest / time.Second)})
		require.True(t, got.Ages)
	}
	requireLoad(load{})
	for _, group := range []string{"l", "r", "p", "o"} {
		fake.Step(time.Second)
		q.AddBatch(namesIn(group, 4))
	}
	requireLoad(load{ready: 2 + 2 + 4 + 4, oldest: 3})
	q.PauseGroup("p", time.Time{})
	requireLoad(load{ready: 2 + 2 + 4, oldest: 3})
	for range 3 * 2 {
		q.Get()
	}
	requireLoad(load{ready: 2, processing: 6})
	q.Done("l0")
	requireLoad(load{ready: 1 + 2, processing: 5, oldest: 3})
	q.Pause()
	requireLoad(load{processing: 5})
	q.Resume()
	q.SetRate(shardq.Rate{PerSecond: 0.001, Burst: 2})
	requireLoad(load{ready: 2, processing: 5, oldest: 3})
	q.Get()
	q.Get()
	requireLoad(load{processing: 7})
}

func TestC81FaultsOfTheOptions(t *testing.T) {
	handle := func(context.Context, int) error { return nil }
	poolOf := func(source worker.Source[int]) *worker.Pool[int] {
		pool, err := worker.New(source, worker.Options[int]{Workers: 1, Handle: handle})
		require.NoError(t, err)
		return pool
	}
	q := newQueue[int](1)
	_, err := worker.NewAutoscaler(poolOf(q), worker.AutoscaleOptions{
		Min: 0, Max: -1, TargetAge: -1, TargetUtilization: math.NaN(), Tolerance: 1, ScaleDownDelay: -1, Interval: -1,
	})
	for _, want := range []string{
		"Min is 0: want 1 or more", "Max is -1: want Min, which is 0, or more", "TargetAge is -1ns: want 0 (none) or more",
		"TargetUtilization is NaN: want 0 (the default) to 1", "Tolerance is 1: want 0 (the default) or more, and less than 1",
		"ScaleDownDelay is -1ns: want", "Interval is -1ns: want",
	} {
		require.ErrorContains(t, err, "worker: AutoscaleOptions."+want)
	}
	_, err = worker.NewAutoscaler(poolOf(q), worker.AutoscaleOptions{Min: 1, Max: 2, TargetAge: 1})
	require.ErrorContains(t, err, "a queue with Options.Ages")
	_, err = worker.NewAutoscaler(poolOf(struct{ worker.Source[int] }{q}), worker.AutoscaleOptions{Min: 1, Max: 2})
	require.ErrorContains(t, err, "which has no method Load")
	_, err = worker.NewAutoscaler[int](nil, worker.AutoscaleOptions{Min: 1, Max: 2})
	require.ErrorContains(t, err, "without a pool")
}

// The load of a Coalescer is that of its queue of keys.
func TestC81PoolOfACoalescer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newJoiner(4, func(o *coalesce.Options[string, string]) { o.Queue.Ages = true })
		ctx, stop := context.WithCancel(t.Context())
		pool, err := worker.New(c, worker.Options[coalesce.Entry[string, string]]{
			Workers: 1, Handle: func(context.Context, coalesce.Entry[string, string]) error {
				time.Sleep(time.Second)
				return nil
			},
		})
		require.NoError(t, err)
		scaler, err := worker.NewAutoscaler(pool, worker.AutoscaleOptions{Min: 1, Max: 8, TargetAge: time.Second})
		require.NoError(t, err)
		ended := returned(func() { require.NoError(t, pool.Run(ctx)) })
		for _, key := range namesIn("k", 100) {
			require.NoError(t, c.Put(key, "1"))
		}
		go scaler.Run(ctx)
		time.Sleep(5500 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 8, pool.Len())
		load := c.Load()
		require.Equal(t, worker.Load{Ready: load.Ready, Processing: 8, Oldest: load.Oldest, Ages: true}, load)
		require.Equal(t, c.Queue().Len(), load.Ready)
		require.Greater(t, load.Oldest, 5*time.Second)
		stop()
		c.ShutDown()
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, ended())
	})
}

// A panic of the hook reaches the caller of Run. The pool keeps its workers.
func TestC81HookPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](1)
		pool := startPool(t, q, worker.Options[int]{Workers: 1, Handle: succeed[int]})
		scaler, err := worker.NewAutoscaler(pool.Pool, worker.AutoscaleOptions{
			Min: 3, Max: 5, OnResize: func(worker.Resize) { panic("hook") },
		})
		require.NoError(t, err)
		require.PanicsWithValue(t, "hook", func() { scaler.Run(t.Context()) })
		q.Add(1)
		synctest.Wait()
		require.Equal(t, 3, pool.Len())
		requireCounts(t, q, 0, 0, 0)
		pool.stopPool(t)
	})
}
