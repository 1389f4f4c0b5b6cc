package contract

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// This file has the tests of adds that take options: of batches (C79), within
// the capacity (C79), and with a window (C80).

func TestC79BatchWithOptions(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[int](shards, line)
		q.AddBatchWith([]int{1, 2}, shardq.AddOptions{})
		requireCounts(t, q, 2, 0, 0)
		q.AddBatchWith([]int{3, 4}, shardq.AddOptions{Priority: 7})
		for range 2 {
			item, priority, _ := q.GetWithPriority()
			require.Contains(t, []int{3, 4}, item)
			require.Equal(t, 7, priority)
			q.Done(item)
		}

		q.AddBatchWith(numbers(100)[50:], shardq.AddOptions{After: time.Hour, Policy: shardq.KeepLatest, MaxWait: 90 * time.Minute})
		requireCounts(t, q, 2, 50, 0)
		line.pass(59 * time.Minute)
		q.AddBatchWith(numbers(100)[50:], shardq.AddOptions{After: time.Hour, Policy: shardq.KeepLatest})
		line.pass(30 * time.Minute)
		requireCounts(t, q, 2, 50, 0)
		line.pass(time.Minute)
		requireCounts(t, q, 52, 0, 0)

		q.AddBatchWith([]int{200, 201}, shardq.AddOptions{RateLimited: true})
		require.Equal(t, 1, q.NumRequeues(200))
		require.Equal(t, 1, q.NumRequeues(201))
		require.Panics(t, func() { q.AddBatchWith([]int{300}, shardq.AddOptions{Policy: 99}) })
		requireCounts(t, q, 52, 2, 0)
		q.ShutDown()
	})
}

func TestC79TryAddWithinTheCapacity(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Capacity: 2, Clock: fake})
		require.NoError(t, q.TryAddWith(1, shardq.AddOptions{Priority: -1}))
		require.NoError(t, q.TryAddWith(2, shardq.AddOptions{After: time.Minute, Priority: 5}))
		require.Equal(t, shardq.ErrFull, q.TryAddWith(3, shardq.AddOptions{Priority: 9}))
		require.Equal(t, shardq.ErrFull, q.TryAddWith(3, shardq.AddOptions{After: time.Minute}))
		require.Equal(t, shardq.ErrFull, q.TryAddWith(3, shardq.AddOptions{Policy: shardq.KeepOld}))
		requireCounts(t, q, 1, 1, 0)

		require.NoError(t, q.TryAddWith(2, shardq.AddOptions{After: time.Hour, Policy: shardq.KeepNew}), "it is held")
		fake.Step(time.Minute)
		requireCounts(t, q, 1, 1, 0)
		require.NoError(t, q.TryAddWith(1, shardq.AddOptions{After: time.Second}), "it is held")
		fake.Step(time.Hour)
		requireCounts(t, q, 2, 0, 0)
		for _, want := range []int{2, 1} {
			item := take(t, q)
			require.Equal(t, want, item, "by their priorities")
			q.Done(item)
		}
		require.Zero(t, q.Stats().OverCapacity)
		require.Zero(t, q.Stats().Held)

		require.NoError(t, q.TryAddWith(3, shardq.AddOptions{RateLimited: true}))
		fake.Step(5 * time.Millisecond)
		requireCounts(t, q, 1, 0, 0)
		q.ShutDown()
		require.Equal(t, shardq.ErrShutDown, q.TryAddWith(4, shardq.AddOptions{Priority: 1}))
		require.Equal(t, shardq.ErrShutDown, q.TryAddWith(4, shardq.AddOptions{After: 1}))
		require.Equal(t, shardq.ErrShutDown, q.TryAddWith(4, shardq.AddOptions{Policy: shardq.KeepNew}))
		require.EqualValues(t, 3, q.Stats().Dropped)

		nan := shardq.MustNew(shardq.Options[float64]{})
		require.Equal(t, shardq.ErrRejected, nan.TryAddWith(math.NaN(), shardq.AddOptions{RateLimited: true}))
		require.Zero(t, nan.NumRequeues(math.NaN()))
	})
}

// A caller that waits for room is admitted in its turn, and its delay begins
// then.
func TestC79AddContextWithWaitsForRoom(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newBounded[int](shards, 1)
		require.NoError(t, q.TryAdd(1))
		errs := make(chan error)
		for item, o := range []shardq.AddOptions{2: {After: time.Hour, Priority: 3}, 3: {Priority: 4}} {
			if item >= 2 {
				go func() { errs <- q.AddContextWith(t.Context(), item, o) }()
				synctest.Wait()
			}
		}
		time.Sleep(time.Minute)
		require.Equal(t, 1, take(t, q))
		q.Done(1)
		require.NoError(t, <-errs)
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		requireCounts(t, q, 0, 1, 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		item, priority, _ := q.GetWithPriority()
		require.Equal(t, []int{2, 3}, []int{item, priority})
		require.Empty(t, errs, "the other waits for room")
		q.Done(item)
		require.NoError(t, <-errs)
		item, priority, _ = q.GetWithPriority()
		require.Equal(t, []int{3, 4}, []int{item, priority})
		q.Done(item)
		require.Zero(t, q.Stats().Held)
		require.Zero(t, q.Stats().OverCapacity)

		ended, end := context.WithCancel(t.Context())
		end()
		require.Equal(t, context.Canceled, q.AddContextWith(ended, 9, shardq.AddOptions{RateLimited: true}))
		require.Zero(t, q.NumRequeues(9))
	})
}

// However adds with options race, the bound holds, and all room comes back.
func TestC79BoundHoldsUnderLoad(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		const capacity = 3
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Capacity: capacity, Clock: fake})
		options := []shardq.AddOptions{
			{}, {Priority: 2}, {After: time.Millisecond}, {Policy: shardq.KeepLatest},
			{After: time.Millisecond, NotAgainWithin: 2 * time.Millisecond}, {NotAgainWithin: time.Millisecond},
		}
		var group sync.WaitGroup
		for n, o := range options {
			group.Go(func() {
				for i := range 200 {
					_ = q.TryAddWith((n+i)%7, o)
				}
			})
			group.Go(func() {
				for i := range 200 {
					ctx, cancel := context.WithCancel(t.Context())
					if i%3 == 0 {
						go cancel()
					}
					_ = q.AddContextWith(ctx, i%11, o)
					cancel()
				}
			})
		}
		var over atomic.Bool
		go func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				if q.Stats().Held > capacity {
					over.Store(true)
				}
				q.Done(item)
				fake.Step(time.Millisecond)
			}
		}()
		quit := make(chan struct{})
		stepped := make(chan struct{})
		go func() {
			defer close(stepped)
			for {
				select {
				case <-quit:
					return
				default:
					fake.Step(time.Millisecond)
				}
			}
		}()
		group.Wait()
		close(quit)
		<-stepped
		fake.Step(time.Second)
		require.NoError(t, q.WaitIdle(t.Context()))
		require.Zero(t, q.Stats().Held)
		require.Zero(t, q.Stats().OverCapacity)
		require.False(t, over.Load())
		for item := range capacity {
			require.NoError(t, q.TryAdd(100+item))
		}
		q.ShutDown()
	})
}

func TestC80Window(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		once := shardq.AddOptions{NotAgainWithin: time.Hour}
		q.AddWith("mail", once)
		require.Equal(t, "mail", take(t, q))
		q.Done("mail")
		q.AddWith("mail", once)
		require.Equal(t, shardq.ErrNotAgain, q.TryAddWith("mail", once))
		require.Equal(t, shardq.ErrNotAgain, q.AddContextWith(t.Context(), "mail", once))
		q.AddBatchWith([]string{"mail", "other"}, once)
		require.EqualValues(t, 4, q.Stats().Deduplicated)
		require.Equal(t, "other", take(t, q), "another item has another window")
		q.Done("other")
		requireCounts(t, q, 0, 0, 0)
		require.Zero(t, q.Stats().Held, "a window holds no item")

		q.Add("mail") // has no window, and changes none
		require.Equal(t, "mail", take(t, q))
		q.Done("mail")
		line.pass(time.Hour - time.Millisecond)
		require.Equal(t, shardq.ErrNotAgain, q.TryAddWith("mail", once), "a refused add opens no window")
		line.pass(time.Millisecond)
		require.NoError(t, q.TryAddWith("mail", once))
		require.Equal(t, shardq.ErrNotAgain, q.TryAddWith("mail", once))
		q.ShutDown()
		require.Equal(t, shardq.ErrShutDown, q.TryAddWith("mail", once), "a shutdown comes first")
	})
}

// A window begins with the add, not with the end of its delay. A refused add
// changes neither a delay nor a priority.
func TestC80WindowOfADelayedItem(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[int](shards, line)
		q.AddWith(1, shardq.AddOptions{After: time.Hour, NotAgainWithin: time.Minute})
		q.AddWith(1, shardq.AddOptions{After: 2 * time.Hour, Policy: shardq.KeepNew, Priority: 9, NotAgainWithin: time.Minute})
		line.pass(time.Minute)
		q.AddWith(1, shardq.AddOptions{After: 2 * time.Hour, NotAgainWithin: time.Minute})
		q.AddWith(1, shardq.AddOptions{Policy: shardq.KeepOld, NotAgainWithin: 2 * time.Minute})
		requireCounts(t, q, 0, 1, 0)
		line.pass(59 * time.Minute)
		item, priority, _ := q.GetWithPriority()
		require.Equal(t, []int{1, 0}, []int{item, priority})
		q.Done(1)
		q.ShutDown()
	})
}

func TestC80CancelClosesTheWindow(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		once := shardq.AddOptions{NotAgainWithin: time.Hour}
		for range 3 {
			require.NoError(t, q.TryAddWith(1, once))
			require.Equal(t, shardq.ErrNotAgain, q.TryAddWith(1, once))
			require.True(t, q.Cancel(1).Any())
		}
		require.NoError(t, q.TryAddWith(1, once))
		take(t, q)
		q.Done(1)
		require.False(t, q.Cancel(1).Any(), "nothing was left to cancel")
		require.NoError(t, q.TryAddWith(1, once))
		q.ShutDown()
	})
}

// A refused add opens no window: what was full, or never got room, may come
// again.
func TestC80NoWindowWithoutAnAdd(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newBounded[int](shards, 1)
		once := shardq.AddOptions{NotAgainWithin: time.Hour}
		require.NoError(t, q.TryAdd(1))
		require.Equal(t, shardq.ErrFull, q.TryAddWith(2, once))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- q.AddContextWith(ctx, 2, once) }()
		synctest.Wait()
		cancel()
		require.Equal(t, context.Canceled, <-ended)

		go func() { ended <- q.AddContextWith(t.Context(), 2, once) }()
		synctest.Wait()
		q.AddWith(2, once) // beyond the capacity, during the wait
		q.Done(take(t, q))
		q.Done(take(t, q))
		require.Equal(t, shardq.ErrNotAgain, <-ended, "another add has opened the window")
		require.Zero(t, q.Stats().Held)
		require.NoError(t, q.TryAdd(3), "its room came back")
		q.ShutDown()
	})
}

// Of concurrent adds, exactly one is accepted in each window.
func TestC80OneOfConcurrentAdds(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake})
		for range 20 {
			var accepted [5]atomic.Int32
			var group sync.WaitGroup
			for n := range 8 {
				group.Go(func() {
					o := shardq.AddOptions{NotAgainWithin: time.Second, After: time.Duration(n%2) * time.Millisecond}
					for item := range accepted {
						if q.TryAddWith(item, o) == nil {
							accepted[item].Add(1)
						}
					}
				})
			}
			group.Wait()
			for item := range accepted {
				require.EqualValues(t, 1, accepted[item].Load())
			}
			fake.Step(time.Second)
		}
		q.ShutDown()
	})
}

// Windows are forgotten when they end, without another call, and leave no
// timer. They keep neither a drain nor WaitIdle from ending.
func TestC80WindowsAreForgotten(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake})
		const items = 1000
		for item := range items {
			q.AddWith(item, shardq.AddOptions{NotAgainWithin: time.Duration(1+item%10) * time.Second})
		}
		for range items {
			q.Done(take(t, q))
		}
		require.NoError(t, q.WaitIdle(t.Context()))
		require.Equal(t, 1, fake.Timers())
		require.Zero(t, q.Stats().Delayed)
		require.Zero(t, q.Stats().NextDue)
		fake.Step(10 * time.Second)
		require.Zero(t, fake.Timers(), "the last window has ended")

		q.AddWith(1, shardq.AddOptions{NotAgainWithin: time.Hour})
		q.Done(take(t, q))
		_, err := q.Drain(t.Context(), shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
		require.NoError(t, err, "it does not wait for windows")
		require.Zero(t, fake.Timers())
	})
}

// A window is a span of the clock's own time, as a delay is.
func TestC80ClockIsSetBackAndForward(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake})
		once := shardq.AddOptions{NotAgainWithin: time.Minute}
		fake.Step(time.Hour)
		require.NoError(t, q.TryAddWith(1, once))
		fake.Step(-30 * time.Minute)
		require.Equal(t, shardq.ErrNotAgain, q.TryAddWith(1, once))
		require.NoError(t, q.TryAddWith(2, once))
		fake.Step(time.Minute)
		require.Equal(t, shardq.ErrNotAgain, q.TryAddWith(1, once))
		require.NoError(t, q.TryAddWith(2, once))
		fake.Step(30 * time.Minute)
		require.NoError(t, q.TryAddWith(1, once))
		require.NoError(t, q.TryAddWith(2, once))
		fake.Step(1000 * time.Hour)
		require.Zero(t, fake.Timers())
		q.ShutDown()
	})
}

// Adds that ask for no window allocate nothing, and an item with a window
// allocates nothing once the shard has room for it.
func TestC80AllocatesNothing(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[int]{Shards: 1, Clock: fake, Capacity: 100})
	cycle := func(o shardq.AddOptions) func() {
		return func() {
			_ = q.TryAddWith(1, o)
			_ = q.TryAddWith(1, o)
			item, _ := q.Get()
			q.Done(item)
		}
	}
	q.AddWith(2, shardq.AddOptions{NotAgainWithin: time.Hour})
	q.Done(take(t, q))
	requireNoAllocation(t, cycle(shardq.AddOptions{}))
	requireNoAllocation(t, cycle(shardq.AddOptions{Priority: 0, Policy: shardq.KeepNew}))
	window := cycle(shardq.AddOptions{NotAgainWithin: time.Millisecond})
	requireNoAllocation(t, func() {
		window()
		fake.Step(time.Millisecond)
	})
	q.ShutDown()
}

func requireNoAllocation(t *testing.T, do func()) {
	t.Helper()
	if !raceDetector {
		require.Zero(t, testing.AllocsPerRun(100, do))
	}
}
