package contract

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
	"github.com/stretchr/testify/require"
)

// idling starts a WaitIdle.
func idling(ctx context.Context, wait func(context.Context) error) (over func() bool, err *error) {
	err = new(error)
	return returned(func() { *err = wait(ctx) }), err
}

func TestC59WaitIdle(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		require.NoError(t, q.WaitIdle(t.Context()), "it holds nothing")
		for round := range 3 {
			q.Add("ready")
			q.AddAfter("delayed", time.Hour)
			over, err := idling(t.Context(), q.WaitIdle)
			requireStillFalse(t, over, "two items are held")
			takeItem(t, q, "ready")
			q.Add("ready")
			requireStillFalse(t, over, "one is dirty, one is delayed")
			q.Done("ready")
			q.Cancel("delayed")
			requireStillFalse(t, over, "one is ready again")
			if round == 2 {
				q.ShutDown()
				requireStillFalse(t, over, "a shutdown changes nothing")
			}
			takeItem(t, q, "ready")
			q.Done("ready")
			requireBecomesTrue(t, over)
			require.NoError(t, *err)
		}
		require.NoError(t, q.WaitIdle(t.Context()), "after a shutdown, too")
	})
}

func TestC59EndOfTheContext(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		ctx, cancel := context.WithCancel(t.Context())
		over, err := idling(ctx, q.WaitIdle)
		requireStillFalse(t, over, "an item is ready")
		cancel()
		requireBecomesTrue(t, over)
		require.ErrorIs(t, *err, context.Canceled)
		require.ErrorIs(t, q.WaitIdle(ctx), context.Canceled)
	})
}

// The work moves from shard to shard: the next item is added before the Done of
// the one before. So there is always an item, and WaitIdle does not return.
func TestC59HoppingItemIsNotOverlooked(t *testing.T) {
	for _, shards := range []int{1, 2, 16} {
		q := newQueue[int](shards)
		ctx, cancel := context.WithCancel(t.Context())
		var hopping atomic.Bool
		hopping.Store(true)
		q.Add(0)
		early := make(chan bool, 1)
		for range 2 {
			go func() {
				for ctx.Err() == nil {
					if q.WaitIdle(ctx) == nil && hopping.Load() {
						select {
						case early <- true:
						default:
						}
						return
					}
				}
			}()
		}
		for hop := range scaled(300_000, 30_000) {
			item, _ := q.Get()
			q.Add(hop + 1)
			q.Done(item)
		}
		hopping.Store(false)
		item, _ := q.Get()
		q.Done(item)
		require.NoError(t, q.WaitIdle(ctx))
		cancel()
		require.Empty(t, early, "WaitIdle returned while an item was held")
	}
}

// Workers that requeue, fail and add are idle when all their items are done.
func TestC59WaitIdleBesideWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](4)
		done := 0
		s := startPool(t, q, worker.Options[int]{Handle: func(_ context.Context, item int) error {
			switch done++; {
			case item > 0 && done%3 == 0:
				return errOnPurpose
			case item > 0:
				q.Add(item - 1)
				q.AddAfter(-item, time.Minute)
			}
			return nil
		}})
		for range 3 {
			q.Add(20)
			over, err := idling(t.Context(), q.WaitIdle)
			requireStillFalse(t, over, "some wait")
			time.Sleep(time.Hour)
			requireBecomesTrue(t, over)
			require.NoError(t, *err)
		}
		s.stopPool(t)
	})
}

// A pending value of a Coalescer counts wherever its key is. Here the queue
// does not hold the key while a Put merges.
func TestC59WaitIdleOfACoalescer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c := newJoiner(2, func(o *coalesce.Options[string, string]) {
			o.Merge = func(a, b string) string { <-gate; return a + b }
		})
		require.NoError(t, c.WaitIdle(t.Context()))
		require.NoError(t, c.Put("a", "1"))
		over, err := idling(t.Context(), c.WaitIdle)
		requireStillFalse(t, over, "a value is pending")
		go func() { _ = c.Put("a", "2") }()
		synctest.Wait()
		taken := returned(func() {
			key, _, _ := c.Take(t.Context())
			c.Done(key)
		})
		synctest.Wait() // it has skipped the key
		require.Zero(t, c.Stats().Held)
		requireStillFalse(t, over, "a value is pending, of which the queue knows nothing")
		close(gate)
		requireBecomesTrue(t, taken)
		requireBecomesTrue(t, over)
		require.NoError(t, *err)
		require.Zero(t, c.Len())
	})
}
