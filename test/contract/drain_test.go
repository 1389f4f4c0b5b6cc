package contract

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// requireStillFalse checks that passed is false after all other goroutines of
// the bubble are blocked.
func requireStillFalse(t *testing.T, passed func() bool, why string) {
	t.Helper()
	synctest.Wait()
	require.False(t, passed(), why)
}

// requireBecomesTrue checks that passed is true after all other goroutines of
// the bubble are blocked.
func requireBecomesTrue(t *testing.T, passed func() bool) {
	t.Helper()
	synctest.Wait()
	require.True(t, passed())
}

func TestC12DrainWaitsForReadyAndProcessing(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		q.Add("b")
		drained := returned(q.ShutDownWithDrain)
		requireStillFalse(t, drained, "two are ready")
		first := take(t, q)
		requireStillFalse(t, drained, "one is ready, one in processing")
		q.Done(first)
		requireStillFalse(t, drained, "one is ready, none in processing: client-go returns here")
		second := take(t, q)
		requireStillFalse(t, drained, "one is in processing")
		q.Done(second)
		requireBecomesTrue(t, drained)
	})
}

func TestC12DrainRunsDirtyItemsOnceMore(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		takeItem(t, q, "a")
		q.Add("a")
		drained := returned(q.ShutDownWithDrain)
		requireStillFalse(t, drained, "dirty")
		q.Add("a") // dropped: there is still one run to come
		q.Done("a")
		requireStillFalse(t, drained, "ready again")
		takeItem(t, q, "a")
		requireStillFalse(t, drained, "in processing again")
		q.Done("a")
		requireBecomesTrue(t, drained)
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC12DrainOfQuiescentQueueReturnsAtOnce(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.ShutDownWithDrain()
		q.ShutDownWithDrain()

		q = newQueue[string](shards)
		requireCycle(t, q, "a")
		q.AddAfter("delayed", time.Hour)
		q.ShutDownWithDrain()
		q.ShutDownWithDrain()
	})
}

func TestC12ShutDownReleasesADrain(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("ready")
		q.Add("processing")
		take(t, q)
		first, second := returned(q.ShutDownWithDrain), returned(q.ShutDownWithDrain)
		requireStillFalse(t, first, "items are under way")
		requireStillFalse(t, second, "items are under way")
		q.ShutDown()
		requireBecomesTrue(t, first)
		requireBecomesTrue(t, second)
	})
}

// A drain after a ShutDown, or after a released drain, waits like the first.
// Only a later ShutDown releases it.
func TestC12DrainAfterShutDown(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		takeItem(t, q, "a")
		q.ShutDown()
		drained := returned(q.ShutDownWithDrain)
		requireStillFalse(t, drained, "in processing")
		q.ShutDown()
		requireBecomesTrue(t, drained)

		drained = returned(q.ShutDownWithDrain)
		requireStillFalse(t, drained, "in processing")
		q.Done("a")
		requireBecomesTrue(t, drained)
	})
}

func TestH20DrainOfEveryState(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("processing")
		q.Add("dirty")
		q.Add("dirty and delayed")
		held := takeAll(t, q)
		q.Add("dirty")
		q.Add("dirty and delayed")
		q.AddAfter("dirty and delayed", time.Minute)
		q.AddAfter("processing", time.Minute)
		q.AddAfter("delayed", time.Minute)
		q.Add("ready")
		q.Add("ready and delayed")
		q.AddAfter("ready and delayed", time.Minute)
		requireCounts(t, q, 2, 4, 3)

		drained := returned(q.ShutDownWithDrain)
		requireStillFalse(t, drained, "not begun")
		requireCounts(t, q, 2, 0, 3)
		require.EqualValues(t, 4, q.Stats().Dropped)
		doneAll(q, held)
		requireStillFalse(t, drained, "four are ready")

		last := takeAll(t, q)
		requireExactly(t, []string{"ready", "ready and delayed", "dirty", "dirty and delayed"}, last)
		for _, item := range last {
			requireStillFalse(t, drained, item)
			q.Done(item)
		}
		requireBecomesTrue(t, drained)
		time.Sleep(time.Hour)
		requireCounts(t, q, 0, 0, 0)
		requireGetSaysShutdown(t, q)
	})
}

// Workers are busy when the drain begins. When it returns, every item that was
// added has been processed.
func TestC12DrainUnderLoad(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range scaled(300, 60) {
			testDrainUnderLoad(t, shards)
		}
	})
}

func testDrainUnderLoad(t *testing.T, shards int) {
	q := newQueue[int](shards)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				if item%3 == 0 && !q.ShuttingDown() {
					q.Add(item + 1)
				}
				q.Done(item)
			}
		})
	}
	group.Go(func() {
		for item := range 200 {
			q.Add(item)
		}
	})
	for q.Stats().Added < 20 {
		runtime.Gosched()
	}
	together(3, func(int) {
		q.ShutDownWithDrain()
		requireDrained(t, q)
	})
	group.Wait()
	requireDrained(t, q)
}

func requireDrained(t *testing.T, q *shardq.Queue[int]) {
	stats := q.Stats()
	if stats.Ready != 0 || stats.Processing != 0 || stats.Delayed != 0 {
		t.Errorf("drained, and yet: %+v", stats)
	}
}
