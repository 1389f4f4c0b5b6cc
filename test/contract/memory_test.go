package contract

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

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

// forEachWayOfAnItem runs a test for each way of an item through a queue, up to
// the point where the queue holds it no more.
func forEachWayOfAnItem(t *testing.T, test func(t *testing.T, way func(*testing.T, *shardq.Queue[pointer], pointer, func(time.Duration)))) {
	type queue = *shardq.Queue[pointer]
	cycle := func(t *testing.T, q queue, item pointer) {
		require.Equal(t, item, take(t, q))
		q.Done(item)
	}
	ways := map[string]func(*testing.T, queue, pointer, func(time.Duration)){
		"a cycle": func(t *testing.T, q queue, item pointer, _ func(time.Duration)) {
			q.Add(item)
			cycle(t, q, item)
		},
		"a dirty cycle": func(t *testing.T, q queue, item pointer, _ func(time.Duration)) {
			q.Add(item)
			take(t, q)
			q.Add(item)
			q.Done(item)
			cycle(t, q, item)
		},
		"a delay": func(t *testing.T, q queue, item pointer, pass func(time.Duration)) {
			q.AddAfter(item, time.Second)
			pass(2 * time.Second)
			cycle(t, q, item)
		},
		"a delay and a cycle": func(t *testing.T, q queue, item pointer, pass func(time.Duration)) {
			q.AddAfter(item, time.Hour)
			q.Add(item)
			cycle(t, q, item)
			q.AddAfter(item, time.Second)
			pass(2 * time.Second)
			cycle(t, q, item)
		},
		"a delay that ends while processing": func(t *testing.T, q queue, item pointer, pass func(time.Duration)) {
			q.Add(item)
			take(t, q)
			q.AddAfter(item, time.Second)
			pass(2 * time.Second)
			q.Done(item)
			cycle(t, q, item)
		},
		"a retry": func(t *testing.T, q queue, item pointer, pass func(time.Duration)) {
			q.AddRateLimited(item)
			pass(time.Second)
			q.Forget(item)
			cycle(t, q, item)
		},
		"misuse": func(_ *testing.T, q queue, item pointer, _ func(time.Duration)) {
			q.Done(item)
			q.Forget(item)
			q.NumRequeues(item)
		},
		"rejection": func(_ *testing.T, q queue, item pointer, _ func(time.Duration)) {
			item.value = math.NaN()
			for _, add := range waysToAdd(q) {
				add(item)
			}
			q.Done(item)
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) { test(t, way) })
	}
}

// The same holds while the queue has other items, added before and after, so
// that its storage stays in use.
func TestC7NothingRefersToAnItemAmongOthers(t *testing.T) {
	forEachWayOfAnItem(t, func(t *testing.T, way func(*testing.T, *shardq.Queue[pointer], pointer, func(time.Duration))) {
		forEachShardCount(t, func(t *testing.T, shards int) {
			fake := newFake()
			q := shardq.MustNew(shardq.Options[pointer]{Shards: shards, Clock: fake})
			for i := range 600 {
				q.Add(pointer{value: float64(i)})
			}
			takeAll(t, q)
			q.AddAfter(pointer{value: 1000}, 1000*time.Hour)
			requireCollected(t, 50, func(items []pointer) {
				for _, item := range items {
					way(t, q, item, fake.Step)
				}
			})
			requireCounts(t, q, 0, 1, 600)
			runtime.KeepAlive(q)
		})
	})
}

func TestC7NothingRefersToItemsDroppedAtShutdown(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[pointer]{Shards: shards, Clock: fake})
		requireCollected(t, 50, func(items []pointer) {
			for _, item := range items {
				q.AddAfter(item, time.Hour)
			}
			q.ShutDown()
			for _, item := range items {
				q.Add(item)
				q.AddAfter(item, time.Hour)
			}
			requireCounts(t, q, 0, 0, 0)
		})
		runtime.KeepAlive(q)
		runtime.KeepAlive(fake)
	})
}

// The queue does not refer to reported items while others are still to be
// reported.
func TestC7NothingRefersToReportedStuckItems(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		var q *shardq.Queue[pointer]
		var left []weak.Pointer[payload]
		fake, reported, held := newFake(), []int(nil), 0
		q = shardq.MustNew(shardq.Options[pointer]{
			Shards: shards, Clock: fake, StuckAfter: time.Second,
			OnStuck: func(i stats.Item[pointer]) {
				runtime.GC()
				for _, number := range reported {
					if left[number].Value() != nil {
						held++
					}
				}
				reported = append(reported, i.Item.to.number)
				q.Done(i.Item)
			},
		})
		left = makeAndUse(5, func(items []pointer) {
			q.AddBatch(items)
			takeAll(t, q)
		})
		fake.Step(time.Minute)
		require.Len(t, reported, len(left))
		require.Zero(t, held)
		runtime.KeepAlive(fake)
	})
}

// requireCollected calls use with new items, and checks that nothing refers to
// any of them afterwards.
func requireCollected(t *testing.T, n int, use func([]pointer)) {
	t.Helper()
	left := makeAndUse(n, use)
	for range 5 {
		runtime.GC()
	}
	held := 0
	for _, item := range left {
		if item.Value() != nil {
			held++
		}
	}
	require.Zero(t, held, "items of %d that something refers to", n)
}

// makeAndUse has a frame of its own, so that the caller's holds no item.
//
//go:noinline
func makeAndUse(n int, use func([]pointer)) []weak.Pointer[payload] {
	items := make([]pointer, n)
	left := make([]weak.Pointer[payload], n)
	for i := range items {
		items[i].to = &payload{number: i}
		left[i] = weak.Make(items[i].to)
	}
	use(items)
	return left
}

func TestC8MemoryReturnsAfterABurst(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		requireMemoryReturns(t, shardq.Options[string]{Shards: shards}, func(q *shardq.Queue[string]) {
			n := burstSize(shards)
			for i := range n {
				q.Add(fmt.Sprintf("a-namespace/the-name-of-object-%08d", i))
			}
			require.Greater(t, heap(), int64(n*40), "the burst was none")
			finishOneByOne(t, q, n)
		})
	})
}

func TestC8MemoryReturnsAfterABurstOfDelayedItems(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		requireMemoryReturns(t, shardq.Options[int]{Shards: shards, Clock: fake}, func(q *shardq.Queue[int]) {
			n := burstSize(shards)
			for item := range n {
				q.AddAfter(item, time.Duration(1+item)*time.Millisecond)
			}
			require.Equal(t, n, q.Stats().Delayed)
			fake.Step(time.Duration(n+1) * time.Millisecond)
			finishOneByOne(t, q, n)
		})
		runtime.KeepAlive(fake)
	})
}

// Groups that never had an item.
func TestC8MemoryReturnsAfterPausesOfManyGroups(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		options := shardq.Options[string]{Shards: shards, Clock: fake, Group: tenant}
		requireMemoryReturns(t, options, func(q *shardq.Queue[string]) {
			n := burstSize(shards)
			for i := range n {
				q.PauseGroup(fmt.Sprintf("tenant %08d", i), fake.Now().Add(time.Second))
			}
			require.Greater(t, heap(), int64(n*40), "the burst was none")
			fake.Step(time.Minute)
		})
		runtime.KeepAlive(fake)
	})
}

// While one item stays, the retained memory is in proportion to the items held,
// not to the burst.
func TestC8MemoryReturnsBesideALongLivedItem(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		before := heap()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake})
		q.AddAfter(-1, 1e6*time.Hour)
		n := scaled(300_000, 50_000)
		for item := range n {
			q.AddAfter(item, time.Second)
		}
		burst := heap() - before
		fake.Step(time.Minute)
		finishOneByOne(t, q, n)
		requireCounts(t, q, 0, 1, 0)
		require.Less(t, heap()-before, burst/20)
		runtime.KeepAlive(q)
	})
}

// Large items that stay after a burst, each far from the others, keep a chunk
// of 32 KiB each at most, and each shard has two more.
func TestC8MemoryReturnsBesideLargeItems(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		const items, left, chunk = 8192, 32, 32 << 10
		type large [4 << 10]byte
		before := heap()
		q := newQueue[large](shards)
		for number := range items {
			q.Add(large{byte(number), byte(number >> 8)})
		}
		for number := range items {
			item, _ := q.Get()
			if number%(items/left) > 0 {
				q.Done(item)
			}
		}
		requireCounts(t, q, 0, 0, left)
		require.Less(t, heap()-before, int64((left+2*shards)*chunk+constantOfC8))
		runtime.KeepAlive(q)
	})
}

// H24: processes have that many queues.
func TestC25H24TenThousandIdleQueues(t *testing.T) {
	for _, shards := range []int{0, 1, 2, 16, 32} { // the default is 32 at most
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			const limit = 8 << 10
			n := scaled(10_000, 2_000)
			queues := make([]*shardq.Queue[string], n)
			goroutines := runtime.NumGoroutine()
			before := heap()
			for i := range queues {
				queues[i] = shardq.MustNew(shardq.Options[string]{Shards: shards})
			}
			each := (heap() - before) / int64(n)
			require.LessOrEqual(t, each, int64(limit), "bytes for a new queue")
			require.LessOrEqual(t, runtime.NumGoroutine(), goroutines) // goroutines of other tests may end meanwhile

			for _, q := range queues {
				requireCycle(t, q, "a")
			}
			require.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "a goroutine without a delay")
			runtime.KeepAlive(queues)
		})
	}
}

// A queue without references is collected without a ShutDown, with its items,
// also if its timer is set. The timer then does nothing.
func TestC14C25ForgottenQueueIsCollected(t *testing.T) {
	type queue = shardq.Queue[*string]
	for name, use := range map[string]func(q *queue, c *clock.Fake, item *string){
		"items, and a timer that was set once": func(q *queue, c *clock.Fake, item *string) {
			q.AddAfter(item, time.Second)
			c.Step(time.Minute)
			q.Add(new(string))
		},
		"a delayed item": func(q *queue, _ *clock.Fake, item *string) { q.AddAfter(item, time.Hour) },
		"a window": func(q *queue, _ *clock.Fake, item *string) {
			q.AddWith(item, shardq.AddOptions{NotAgainWithin: time.Hour})
		},
		"a paused group, after a shutdown": func(q *queue, c *clock.Fake, item *string) {
			q.Add(item)
			q.PauseGroup(*item, c.Now().Add(time.Hour))
			q.ShutDown()
		},
		"a rate, after a shutdown": func(q *queue, _ *clock.Fake, item *string) {
			q.SetRate(shardq.Rate{PerSecond: 1.0 / 3600})
			q.AddBatch([]*string{new(string), new(string), item})
			q.Get()
			q.TryClaim() // which finds no token
			q.ShutDown()
		},
	} {
		t.Run(name, func(t *testing.T) {
			forEachShardCount(t, func(t *testing.T, shards int) {
				fake := newFake()
				left := func() weak.Pointer[string] {
					item := new(string)
					*item = "a name of some length: " + t.Name()
					q := shardq.MustNew(shardq.Options[*string]{
						Shards: shards, Clock: fake, Group: func(item *string) string { return *item },
					})
					use(q, fake, item)
					return weak.Make(item)
				}()
				for range 5 {
					runtime.GC()
				}
				require.Nil(t, left.Value())
				fake.Step(2 * time.Hour)
				require.Zero(t, fake.Timers())
			})
		})
	}
}
