package contract

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

func TestC35ReadyItemIsReturned(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		item, err := q.GetContext(t.Context())
		require.NoError(t, err)
		require.Equal(t, "a", item)
		requireCounts(t, q, 0, 0, 1)
	})
}

// A worker whose context has ended stops, however many items are ready.
func TestC35EndedContextTakesNothing(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		item, err := q.GetContext(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, item)
		requireCounts(t, q, 1, 0, 0)
		q.ShutDown()
		_, err = q.GetContext(ctx)
		require.ErrorIs(t, err, context.Canceled, "the context is looked at first")
	})
}

func TestC35ShutDownIsAnError(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		errs := make(chan error, 3)
		for range cap(errs) {
			go func() { _, err := q.GetContext(t.Context()); errs <- err }()
		}
		synctest.Wait()
		q.ShutDown()
		for range cap(errs) {
			require.ErrorIs(t, <-errs, shardq.ErrShutDown)
		}
		_, err := q.GetContext(t.Context())
		require.EqualError(t, err, "shardq: queue is shut down")
	})
}

func TestC35ParkedGetIsCanceled(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := q.GetContext(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(begin))
		requireCycle(t, q, "a")
	})
}

// Many consumers are parked. Some are canceled at the moment at which items are
// added for the others. Each of the others gets one.
func TestC35OtherParkedGetsReturnTheItems(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		ctx, cancel := context.WithCancel(t.Context())
		var gotten, left atomic.Int32
		for i := range 100 {
			go func() {
				mine := ctx
				if i%2 == 0 {
					mine = t.Context()
				}
				if _, err := q.GetContext(mine); err != nil {
					left.Add(1)
					return
				}
				gotten.Add(1)
			}()
		}
		synctest.Wait()
		cancel()
		for item := range 50 {
			q.Add(item)
		}
		synctest.Wait()
		// An item may have gone to a consumer that was about to be canceled.
		require.EqualValues(t, 50, gotten.Load())
		require.Zero(t, q.Len())
		q.ShutDown()
		synctest.Wait()
		require.EqualValues(t, 50, left.Load())
	})
}
