package contract

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// A claim can ask whether its item was added or canceled since.
func TestC72ClaimAsks(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		requireChanges := func(c worker.Claim[string], added, canceled bool) {
			t.Helper()
			require.Equal(t, []bool{added, canceled}, []bool{c.AddedAgain(), c.Canceled()})
		}
		q.Add("a")
		first, _ := q.TryClaim()
		requireChanges(first, false, false)
		q.AddAfter("a", time.Second)
		requireChanges(first, false, false) // it is delayed
		time.Sleep(2 * time.Second)
		requireChanges(first, true, false)
		q.Cancel("a")
		requireChanges(first, false, true)
		q.Add("a")
		requireChanges(first, true, true)
		require.NoError(t, first.Done())
		requireChanges(first, false, false) // it has ended
		second, _ := q.TryClaim()
		requireChanges(second, false, false) // what happened to the first is over
		require.NoError(t, second.Done())
		var zero worker.Claim[string]
		requireChanges(zero, false, false)
	})
}

// A handler's context ends when its item is added again or canceled, if the
// options say so. Otherwise it does not.
func TestC72ContextEnds(t *testing.T) {
	for _, test := range []struct {
		again, cancel bool // options
		do            func(q *shardq.Queue[string])
		want          error
		runs          int
	}{
		{true, true, func(q *shardq.Queue[string]) { q.Add("a") }, worker.ErrAddedAgain, 2},
		{true, true, func(q *shardq.Queue[string]) { q.AddBatch([]string{"b", "a"}, shardq.AddOptions{}) }, worker.ErrAddedAgain, 2},
		{true, true, func(q *shardq.Queue[string]) { q.AddAfter("a", time.Second) }, worker.ErrAddedAgain, 2},
		{true, true, func(q *shardq.Queue[string]) { q.Cancel("a") }, worker.ErrItemCanceled, 1},
		{true, false, func(q *shardq.Queue[string]) { q.Cancel("a"); q.Add("a") }, worker.ErrAddedAgain, 2},
		{false, true, func(q *shardq.Queue[string]) { q.Add("a"); q.Cancel("a") }, worker.ErrItemCanceled, 1},
		{true, false, func(q *shardq.Queue[string]) { q.Cancel("a") }, nil, 1},
		{false, true, func(q *shardq.Queue[string]) { q.Add("a") }, nil, 2},
		{false, false, func(q *shardq.Queue[string]) { q.Add("a"); q.Cancel("a") }, nil, 1},
	} {
		forEachShardCountInBubble(t, func(t *testing.T, shards int) {
			q := newQueue[string](shards)
			var cause error
			runs := 0
			s := startPool(t, q, worker.Options[string]{
				CancelIfAddedAgain: test.again, CancelIfCanceled: test.cancel,
				Handle: func(ctx context.Context, item string) error {
					if item != "a" {
						return nil
					}
					if runs++; runs > 1 {
						return nil
					}
					select {
					case <-ctx.Done():
						cause = context.Cause(ctx)
						return fmt.Errorf("wrapped: %w", ctx.Err())
					case <-time.After(time.Minute):
						return nil
					}
				},
			})
			q.AddRateLimited("a")
			time.Sleep(time.Second)
			test.do(q)
			time.Sleep(time.Hour)
			s.stopPool(t)
			require.Equal(t, test.want, cause)
			require.Equal(t, test.runs, runs)
			require.Empty(t, s.failed, "it is no failure")
			require.Empty(t, s.discarded)
			requireCounts(t, q, 0, 0, 0)
		})
	}
}

// What happened between the hand-out and the watch is reported. What happens to
// a later claim is not.
func TestC72NothingIsMissedOrTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](1)
		q.Add("a")
		first, _ := q.TryClaim()
		q.Cancel("a")
		q.Add("a")
		var told []error
		watch := func(c worker.Claim[string]) (stop func()) {
			return c.Owner().(worker.Watcher).WatchClaim(c.Token(), func(cause error) { told = append(told, cause) })
		}
		stopFirst := watch(first)
		require.Equal(t, []error{worker.ErrItemCanceled, worker.ErrAddedAgain}, told)
		told = nil
		require.NoError(t, first.Done())
		second, _ := q.TryClaim()
		q.Add("a")
		require.Empty(t, told, "the watch was of the first claim")
		stopSecond := watch(second)
		require.Equal(t, []error{worker.ErrAddedAgain}, told)
		stopFirst() // does not stop the second
		q.Cancel("a")
		require.Equal(t, []error{worker.ErrAddedAgain, worker.ErrItemCanceled}, told)
		stopSecond()
		q.Add("a")
		require.Len(t, told, 2)
		require.NoError(t, second.Done())
		watch(second)() // has ended
		require.Len(t, told, 2)
	})
}

// A handler that ends early keeps the item's failures, and its value.
func TestC72InterruptedValueGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := coalesce.MustNew(coalesce.Options[string, int]{Merge: func(a, b int) int { return a + b }})
		var values []int
		pool, err := worker.New(c, worker.Options[coalesce.Entry[string, int]]{
			Workers: 1, CancelIfAddedAgain: true, Attempts: true, MaxAttempts: 2,
			Handle: func(ctx context.Context, e coalesce.Entry[string, int]) error {
				a, _ := worker.AttemptOf[coalesce.Entry[string, int]](ctx)
				values = append(values, e.Value, a.Number())
				if len(values) == 2 {
					return errOnPurpose
				}
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(time.Minute):
					return nil
				}
			},
		})
		require.NoError(t, err)
		ended := returned(func() { require.NoError(t, pool.Run(t.Context())) })
		require.NoError(t, c.Put("k", 1))
		time.Sleep(time.Second)
		require.NoError(t, c.Put("k", 10))
		time.Sleep(time.Hour)
		c.ShutDown()
		requireBecomesTrue(t, ended)
		require.Equal(t, []int{1, 1, 1, 2, 11, 2}, values)
	})
}

// Adds race with the beginning and the end of attempts. No attempt is
// interrupted without a change, and none begins with a context that has ended.
func TestC72AddsRaceWithAttempts(t *testing.T) {
	q := newQueue[int](2)
	const adds = 2000
	pool, err := worker.New(q, worker.Options[int]{
		Workers: 4, CancelIfAddedAgain: true, Attempts: true,
		Handle: func(ctx context.Context, _ int) error {
			a, _ := worker.AttemptOf[int](ctx)
			if ctx.Err() != nil && !a.Claim.AddedAgain() {
				t.Error("a change of an earlier attempt ended the context")
			}
			return ctx.Err()
		},
	})
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = pool.Run(t.Context()) }()
	for i := range adds {
		q.Add(i % 3)
	}
	q.ShutDown()
	<-ended
	requireCounts(t, q, 0, 0, 0)
}
