package heapqueue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/clock"
)

func newQueue(t *testing.T) *heapqueue.Queue[string] {
	t.Helper()
	q := heapqueue.New(heapqueue.Options[string]{})
	t.Cleanup(q.ShutDown)
	return q
}

func get(t *testing.T, q *heapqueue.Queue[string]) string {
	t.Helper()
	item, shutdown := q.Get()
	assert.False(t, shutdown)
	return item
}

func TestItemsAreHandedOutInTheOrderOfTheirAdds(t *testing.T) {
	q := newQueue(t)
	for _, item := range []string{"a", "b", "a", "c", "b"} {
		q.Add(item)
	}
	assert.Equal(t, 3, q.Len())
	assert.Equal(t, []string{"a", "b", "c"}, []string{get(t, q), get(t, q), get(t, q)})
}

func TestAddsDuringProcessingCauseOneMoreRun(t *testing.T) {
	q := newQueue(t)
	q.Add("a")
	get(t, q)
	for range 1000 {
		q.Add("a")
	}
	assert.Zero(t, q.Len())
	q.Done("a")
	assert.Equal(t, 1, q.Len())
	q.Done(get(t, q))
	assert.Zero(t, q.Len())
}

func TestGetWaitsForAnAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		got := make(chan string)
		go func() { got <- get(t, q) }()
		synctest.Wait()
		q.Add("a")
		assert.Equal(t, "a", <-got)
	})
}

func TestADelayedItemIsReadyAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		start := time.Now()
		q.AddAfter("late", 3*time.Second)
		q.AddAfter("early", 2*time.Second)
		q.AddAfter("now", 0)
		assert.Equal(t, "now", get(t, q))
		assert.Equal(t, "early", get(t, q))
		assert.Equal(t, 2*time.Second, time.Since(start))
		assert.Equal(t, "late", get(t, q))
		assert.Equal(t, 3*time.Second, time.Since(start))
	})
}

func TestTheEarlierOfTwoDeadlinesCounts(t *testing.T) {
	for name, delays := range map[string][2]time.Duration{
		"earlier first": {time.Second, 10 * time.Second},
		"earlier last":  {10 * time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(t)
				start := time.Now()
				q.AddAfter("a", delays[0])
				q.AddAfter("a", delays[1])
				q.Done(get(t, q))
				assert.Equal(t, time.Second, time.Since(start))
				time.Sleep(time.Minute)
				assert.Zero(t, q.Len(), "it expires once")
			})
		})
	}
}

func TestAnInjectedClockDrivesDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clock.NewFake(time.Now())
		q := heapqueue.New(heapqueue.Options[string]{Clock: fake})
		defer q.ShutDown()
		q.AddAfter("a", time.Second)
		synctest.Wait()
		fake.Step(time.Second - 1)
		synctest.Wait()
		assert.Zero(t, q.Len())
		fake.Step(1)
		assert.Equal(t, "a", get(t, q))
	})
}

func TestRateLimitedAddsBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		start := time.Now()
		q.AddRateLimited("a")
		q.Done(get(t, q))
		q.AddRateLimited("a")
		assert.Equal(t, 2, q.NumRequeues("a"))
		q.Done(get(t, q))
		assert.Equal(t, 15*time.Millisecond, time.Since(start))
		q.Forget("a")
		assert.Zero(t, q.NumRequeues("a"))
	})
}

func TestShutDownEndsTheGoroutineAndDropsAdds(t *testing.T) {
	shutdowns := map[string]func(*heapqueue.Queue[string]){
		"ShutDown":          (*heapqueue.Queue[string]).ShutDown,
		"ShutDownWithDrain": (*heapqueue.Queue[string]).ShutDownWithDrain,
	}
	for name, shutDown := range shutdowns {
		t.Run(name, func(t *testing.T) {
			// The bubble fails if a goroutine stays.
			synctest.Test(t, func(t *testing.T) {
				q := heapqueue.New(heapqueue.Options[string]{})
				q.Add("ready")
				q.AddAfter("delayed", time.Second)
				synctest.Wait()
				shutDown(q)
				shutDown(q)
				q.Add("dropped")
				q.AddAfter("dropped", time.Second)
				assert.True(t, q.ShuttingDown())
				assert.Equal(t, "ready", get(t, q))
				q.Done("ready")
				_, shutdown := q.Get()
				assert.True(t, shutdown)
			})
		})
	}
}

func TestDrainsWaitForProcessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Add("a")
		get(t, q)
		drained := make(chan struct{}, 2)
		for range 2 {
			go func() { q.ShutDownWithDrain(); drained <- struct{}{} }()
		}
		synctest.Wait()
		assert.Empty(t, drained)
		q.Done("a")
		<-drained
		<-drained
	})
}

func TestShutDownReleasesADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Add("a")
		get(t, q)
		drained := make(chan struct{})
		go func() { q.ShutDownWithDrain(); close(drained) }()
		synctest.Wait()
		q.ShutDown()
		<-drained
	})
}
