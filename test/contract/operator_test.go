package contract

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// TestC82OperatorRetriesNow checks that only a running delay is retried, with
// the priority of its item, and that nothing runs that was not added.
func TestC82OperatorRetriesNow(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, Clock: clock.NewFake(time.Unix(0, 0))})
	operator := q.Inspect().Operator()
	require.False(t, operator.RetryNow("unknown"))
	require.False(t, operator.RetryNow(7), "another type")
	q.Add("ready")
	require.False(t, operator.RetryNow("ready"))

	q.AddWith("delayed", shardq.AddOptions{After: time.Hour, Priority: 5})
	require.True(t, operator.RetryNow("delayed"))
	require.False(t, operator.RetryNow("delayed"), "it is ready")
	takeItem(t, q, "delayed") // before the other, by its priority
	q.AddAfter("delayed", time.Hour)
	require.True(t, operator.RetryNow("delayed"), "in processing")
	info, _ := q.Lookup("delayed")
	require.True(t, info.Dirty)
	q.Done("delayed")
	takeItem(t, q, "ready")
	takeItem(t, q, "delayed")
	q.Done("delayed")
	q.Done("ready")
	require.Zero(t, q.Stats().Held)
}

// TestC82RetryDisturbsNothing checks that the end of a delay cancels no
// handler, closes no window, and drops nothing in a drain that waits for
// delays.
func TestC82RetryDisturbsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](1)
		var runs atomic.Int64
		s := startPool(t, q, worker.Options[string]{CancelIfCanceled: true, Handle: func(ctx context.Context, _ string) error {
			runs.Add(1)
			time.Sleep(time.Second)
			return ctx.Err()
		}})
		require.NoError(t, q.TryAdd("a", shardq.AddOptions{NotAgainWithin: time.Hour}))
		synctest.Wait()
		q.AddAfter("a", time.Hour)
		require.True(t, q.Inspect().Operator().RetryNow("a"))
		require.ErrorIs(t, q.TryAdd("a", shardq.AddOptions{NotAgainWithin: time.Hour}), shardq.ErrNotAgain)
		time.Sleep(time.Minute)
		require.EqualValues(t, 2, runs.Load(), "none was interrupted")

		q.AddAfter("b", time.Hour)
		drained := make(chan error, 1)
		go func() {
			_, err := q.Drain(context.Background(), shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
			drained <- err
		}()
		synctest.Wait()
		require.True(t, q.Inspect().Operator().RetryNow("b"))
		require.NoError(t, <-drained)
		require.EqualValues(t, 3, runs.Load())
		require.Zero(t, q.Stats().Dropped)
		s.stopPool(t)
	})
}

// TestC82OperatorCancels checks that a cancel is that of the queue.
func TestC82OperatorCancels(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, Clock: clock.NewFake(time.Unix(0, 0))})
	q.AddAfter("delayed", time.Hour)
	require.Equal(t, shardq.Canceled{}, q.Inspect().Operator().Cancel(7))
	require.Equal(t, shardq.Canceled{Delayed: true}, q.Inspect().Operator().Cancel("delayed"))
	require.Equal(t, shardq.Canceled{}, q.Inspect().Operator().Cancel("delayed"))
}

// TestC82ItemsOfAnyType checks that a page sees the items of the queue.
func TestC82ItemsOfAnyType(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, Metrics: true})
	q.Add("taken")
	takeItem(t, q, "taken")
	q.Add("ready")
	number, show, closeSlot := q.Inspect().(worker.Slots[string]).OpenSlot()
	defer closeSlot()
	show([]string{"taken"})
	for state, want := range map[stats.State]string{stats.Processing: "taken", stats.Ready: "ready"} {
		for info := range q.Inspect().All(state) {
			require.Equal(t, any(want), info.Item)
			require.Equal(t, map[string]int{"taken": number}[want], info.Worker)
		}
	}
	info, ok := q.Inspect().Lookup("ready")
	require.True(t, ok)
	require.Equal(t, any("ready"), info.Item)
	_, ok = q.Inspect().Lookup(7)
	require.False(t, ok)
}
