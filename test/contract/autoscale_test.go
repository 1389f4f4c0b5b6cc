package contract

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
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
