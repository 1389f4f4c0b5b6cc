package contract

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// A hook for stuck items that does not return blocks only its own goroutine: no
// Get calls it.
func TestC44C17HookThatBlocksIsAlone(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		release := make(chan struct{})
		q := shardq.MustNew(shardq.Options[int]{
			Shards: shards, StuckAfter: time.Second,
			OnStuck: func(stats.Item[int]) { <-release },
		})
		q.AddBatch(numbers(8), shardq.AddOptions{})
		stuck := takeAll(t, q)
		served := 0
		workers := returned(func() {
			for range q.Items(context.Background()) {
				served++
			}
		})
		for round := range 20 {
			time.Sleep(500 * time.Millisecond)
			q.Add(100 + round)
			synctest.Wait()
			require.Equal(t, round+1, served)
		}
		close(release)
		doneBatch(q, stuck)
		q.ShutDown()
		requireBecomesTrue(t, workers)
	})
}

// A brokenClock panics in the named call of the queue, while it is broken.
type brokenClock struct {
	*clock.Fake
	call   string
	broken atomic.Bool
}

func (c *brokenClock) Now() time.Time {
	stack := make([]byte, 64<<10)
	if c.broken.Load() && strings.Contains(string(stack[:runtime.Stack(stack, false)]), "])."+c.call+"(") {
		panic("clock")
	}
	return c.Fake.Now()
}

// caught calls f in a goroutine, and reports whether it has panicked.
func caught(f func()) (panicked *atomic.Bool) {
	panicked = &atomic.Bool{}
	go func() {
		defer func() { panicked.Store(recover() != nil) }()
		f()
	}()
	return panicked
}

// The clock panics in a consumer that was woken. Another one wakes in its
// place.
func TestC17C4ClockPanicsInAWokenConsumer(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		c := &brokenClock{Fake: newFake(), call: "Get"}
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: c, Ages: true})
		first := caught(func() { _, _ = q.Get() })
		synctest.Wait()
		second := returned(func() { item, _ := q.GetContext(t.Context()); q.Done(item) })
		synctest.Wait()
		q.AddAfter(1, time.Second)
		c.broken.Store(true)
		c.Step(time.Second) // the driver reads the clock, and then the first consumer does
		synctest.Wait()
		require.True(t, first.Load())
		requireBecomesTrue(t, second)
		requireCounts(t, q, 0, 0, 0)
	})
}

// If an item of a batch panics, the items before it are added, and keep their
// capacity.
func TestC37C40PanicInABatchFreesCapacity(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[any]{Shards: shards, Capacity: 64})
		batch := make([]any, 65)
		for i := range 64 {
			batch[i] = i
		}
		batch[64] = []int{1}
		require.Panics(t, func() { q.AddBatch(batch, shardq.AddOptions{}) })
		require.Len(t, takeAll(t, q), 64)
		guest := returned(func() { require.NoError(t, q.AddContext(t.Context(), "guest", shardq.AddOptions{})) })
		requireStillFalse(t, guest, "there is no capacity")
		require.Panics(t, func() { doneBatch(q, batch) })
		requireBecomesTrue(t, guest)
		require.Equal(t, 1, q.Stats().Held)
	})
}

// The clock panics in an AddContext that was admitted: the capacity is free
// again.
func TestC40C17ClockPanicsInAnAdmittedWaiter(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		c := &brokenClock{Fake: newFake(), call: "AddContext"}
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: c, Capacity: 1, Ages: true})
		q.AddAfter(0, time.Hour)
		guest := caught(func() { _ = q.AddContext(t.Context(), 1, shardq.AddOptions{}) })
		synctest.Wait()
		c.Step(time.Second) // the coarse clock is idle
		c.broken.Store(true)
		q.Cancel(0)
		synctest.Wait()
		require.True(t, guest.Load())
		require.NoError(t, q.TryAdd(2, shardq.AddOptions{}))
		require.ErrorIs(t, q.TryAdd(3, shardq.AddOptions{}), shardq.ErrFull)
	})
}

// Items are added in the order in which their producers began to wait, however
// much capacity becomes free at once.
func TestC40WaitersAddInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newBounded[int](1, 10)
		q.AddBatch(numbers(10), shardq.AddOptions{})
		held := takeAll(t, q)
		for item := range 10 {
			go func() { _ = q.AddContext(t.Context(), 100+item, shardq.AddOptions{}) }()
			synctest.Wait()
		}
		doneBatch(q, held)
		synctest.Wait()
		got := finishAll(t, q)
		for i := range got {
			require.Equal(t, 100+i, got[i])
		}
		require.Len(t, got, 10)
	})
}
