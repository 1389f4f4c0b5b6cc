package contract

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

func TestC52ResizeWhileWorkersAreParked(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		s := startPool(t, q, worker.Options[int]{Workers: 2, Handle: succeed[int]})
		for _, n := range []int{2, 5, 1, 0, 3, 3} {
			s.Resize(n)
			synctest.Wait()
			require.Equal(t, n, s.Len())
		}
		q.AddBatch(numbers(10), shardq.AddOptions{})
		synctest.Wait()
		requireCounts(t, q, 0, 0, 0)
		s.Resize(0)
		synctest.Wait()
		q.AddBatch(numbers(10), shardq.AddOptions{})
		requireStillFalse(t, s.ended, "it goes on without workers")
		requireCounts(t, q, 10, 0, 0)
		s.stopPool(t)
		require.PanicsWithValue(t, "worker: Pool.Resize was called with -1: want 0 or more", func() { s.Resize(-1) })
	})
}

// A worker that has an item finishes it, and takes no other.
func TestC52ResizeWhileWorkersWork(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		gate := make(chan struct{})
		var canceled atomic.Int32
		s := startPool(t, q, worker.Options[int]{Workers: 4, Handle: func(ctx context.Context, _ int) error {
			<-gate
			if ctx.Err() != nil {
				canceled.Add(1)
			}
			return nil
		}})
		q.AddBatch(numbers(10), shardq.AddOptions{})
		synctest.Wait()
		s.Resize(1)
		synctest.Wait()
		require.Equal(t, 4, s.Len(), "they have items")
		requireCounts(t, q, 6, 0, 4)
		for range 4 {
			gate <- struct{}{}
		}
		synctest.Wait()
		require.Equal(t, 1, s.Len())
		requireCounts(t, q, 5, 0, 1)
		s.Resize(2)
		synctest.Wait()
		requireCounts(t, q, 4, 0, 2)
		close(gate)
		synctest.Wait()
		requireCounts(t, q, 0, 0, 0)
		require.Zero(t, canceled.Load(), "the context of the handlers is not the workers'")
		s.stopPool(t)
	})
}

func TestC52ResizeBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := worker.New(newQueue[int](2), worker.Options[int]{Workers: 7, Handle: succeed[int]})
		require.NoError(t, err)
		w.Resize(3)
		require.Zero(t, w.Len())
		ctx, cancel := context.WithCancel(t.Context())
		ended := returned(func() { require.NoError(t, w.Run(ctx)) })
		synctest.Wait()
		require.Equal(t, 3, w.Len())
		cancel()
		requireBecomesTrue(t, ended)
	})
}

// Without workers no one notices a shutdown, until there is a worker.
func TestC52ShutDownWithoutWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		s := startPool(t, q, worker.Options[int]{Handle: succeed[int]})
		synctest.Wait()
		s.Resize(0)
		synctest.Wait()
		q.Add(1)
		q.ShutDown()
		requireStillFalse(t, s.ended, "there is no worker")
		s.Resize(1)
		s.requireEnds(t)
		requireCounts(t, q, 0, 0, 0)
	})
}

// Two workers have dirty items, and one of them must leave. Then the queue is
// shut down. Whichever finishes first, the last one stays for its item, because
// no other worker is left.
func TestC52LastWorkerStaysForItsItem(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for first := range 2 {
			q := newQueue[int](shards)
			gates := []chan struct{}{make(chan struct{}), make(chan struct{})}
			var runs atomic.Int32
			s := startPool(t, q, worker.Options[int]{Workers: 2, Handle: func(_ context.Context, item int) error {
				<-gates[item]
				runs.Add(1)
				return nil
			}})
			q.AddBatch(numbers(2), shardq.AddOptions{})
			synctest.Wait()
			s.Resize(1)
			q.AddBatch(numbers(2), shardq.AddOptions{})
			drained := returned(q.ShutDownWithDrain)
			requireStillFalse(t, drained, "two items are in processing")
			close(gates[first])
			requireStillFalse(t, drained, "the other item is to run twice")
			require.EqualValues(t, 2, runs.Load())
			close(gates[1-first])
			requireBecomesTrue(t, drained)
			require.EqualValues(t, 4, runs.Load())
			s.requireEnds(t)
		}
	})
}

// A worker whose handler ends its goroutine again and again can be removed,
// too.
func TestC52ResizeOfReplacedWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		s := startPool(t, q, worker.Options[int]{Workers: 3, Handle: func(context.Context, int) error {
			runtime.Goexit()
			return nil
		}})
		q.AddBatch(numbers(10), shardq.AddOptions{})
		synctest.Wait()
		require.Equal(t, 3, s.Len())
		s.Resize(1)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, s.Len())
		s.Resize(0)
		synctest.Wait()
		require.Zero(t, s.Len())
		s.stopPool(t)
	})
}

// Many goroutines add items and resize. All items are processed.
func TestC52ResizeLosesNothing(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		total := scaled(20_000, 2000)
		var processed atomic.Int64
		w, err := worker.New(q, worker.Options[int]{
			Workers: 4, Drain: q.DrainWith(shardq.DrainOptions{Delayed: shardq.RunDelayed}),
			Handle: func(context.Context, int) error { processed.Add(1); return nil },
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		together(3, func(i int) {
			for n := range total {
				if i == 0 {
					q.Add(n)
				} else if n%10 == 0 {
					w.Resize((n / 10 * i) % 5)
				}
			}
		})
		w.Resize(2)
		cancel()
		require.NoError(t, <-ended)
		require.EqualValues(t, total, processed.Load())
	})
}
