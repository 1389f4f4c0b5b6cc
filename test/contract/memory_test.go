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
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// payload is what an item points to. A weak pointer shows whether the collector
// freed it.
type payload struct {
	number int
	_      [64]byte // so that it shares no memory with other small objects
}

// pointer is an item that is not equal to itself when value is NaN.
type pointer struct {
	to    *payload
	value float64
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

func TestC7NothingRefersToAnItemAfterDone(t *testing.T) {
	forEachWayOfAnItem(t, func(t *testing.T, way func(*testing.T, *shardq.Queue[pointer], pointer, func(time.Duration))) {
		forEachShardCount(t, func(t *testing.T, shards int) {
			fake := newFake()
			q := shardq.MustNew(shardq.Options[pointer]{Shards: shards, Clock: fake})
			for n := range 3 { // each in the storage cell of the one before
				requireCollected(t, n, func(items []pointer) {
					for _, item := range items {
						way(t, q, item, fake.Step)
					}
				})
			}
			runtime.KeepAlive(q)
		})
	})
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

// Here the watchdog has found items in flight, and has not reported them.
func TestC7NothingRefersToStuckItemsAfterShutdown(t *testing.T) {
	for name, hook := range map[string]func(shutDown func()){
		"a hook that shuts down": func(shutDown func()) { shutDown() },
		"a hook that panics":     func(func()) { panic("hook") },
	} {
		t.Run(name, func(t *testing.T) {
			forEachShardCount(t, func(t *testing.T, shards int) {
				var q *shardq.Queue[pointer]
				fake, reported := newFake(), 0
				q = shardq.MustNew(shardq.Options[pointer]{
					Shards: shards, Clock: fake, StuckAfter: time.Second,
					OnStuck: func(stats.Item[pointer]) { reported++; hook(q.ShutDown) },
				})
				requireCollected(t, 50, func(items []pointer) {
					q.AddBatch(items, shardq.AddOptions{})
					items = takeAll(t, q)
					func() {
						defer func() { _ = recover() }()
						fake.Step(time.Minute)
					}()
					require.Equal(t, 1, reported)
					q.ShutDown()
					doneBatch(q, items)
					requireCounts(t, q, 0, 0, 0)
				})
				runtime.KeepAlive(q)
				runtime.KeepAlive(fake)
			})
		})
	}
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
			q.AddBatch(items, shardq.AddOptions{})
			takeAll(t, q)
		})
		fake.Step(time.Minute)
		require.Len(t, reported, len(left))
		require.Zero(t, held)
		runtime.KeepAlive(fake)
	})
}

func TestC7NothingRefersToItemsAfterCancelledDelays(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := engine.Follow(shardq.MustNew(shardq.Options[pointer]{Shards: shards, Clock: fake}), shard.Rules{CancelDelayOnAdd: true})
		requireCollected(t, 50, func(items []pointer) {
			for _, item := range items {
				q.AddAfter(item, time.Hour)
				q.Add(item)
			}
			finishAll(t, q)
			requireCounts(t, q, 0, 0, 0)
		})
		runtime.KeepAlive(q)
		runtime.KeepAlive(fake)
	})
}

// Many items at once use storage that grows and is returned.
func TestC7NothingRefersToManyItems(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[pointer](shards)
		requireCollected(t, 5000, func(items []pointer) {
			addAll(q, items)
			finishAll(t, q)
		})
		runtime.KeepAlive(q)
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

// constantOfC8 is the constant in "at most twice what a fresh queue uses plus a
// small constant".
const constantOfC8 = 32 << 10

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the second one empties the pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// requireMemoryReturns makes a queue, uses it, and compares its memory when
// idle with its memory when new.
func requireMemoryReturns[T comparable](t *testing.T, options shardq.Options[T], use func(*shardq.Queue[T])) {
	t.Helper()
	before := heap()
	q := shardq.MustNew(options)
	fresh := heap() - before
	use(q)
	requireCounts(t, q, 0, 0, 0)
	idle := heap() - before
	runtime.KeepAlive(q)
	require.LessOrEqual(t, idle, 2*fresh+constantOfC8, "fresh: %d bytes", fresh)
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

// All at once in processing, and then Done.
func TestC8MemoryReturnsAfterABurstInProcessing(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		requireMemoryReturns(t, shardq.Options[int]{Shards: shards}, func(q *shardq.Queue[int]) {
			addAll(q, numbers(burstSize(shards)))
			finishAll(t, q)
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

func TestC8MemoryReturnsAtShutdown(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		requireMemoryReturns(t, shardq.Options[int]{Shards: shards, Clock: fake}, func(q *shardq.Queue[int]) {
			for item := range scaled(300_000, 50_000) {
				q.AddAfter(item, time.Hour)
			}
			q.ShutDown()
		})
		runtime.KeepAlive(fake)
	})
}

// The memory of a burst that is small for each shard returns, too, within a
// bounded number of operations: here, 3,000 cycles for each shard.
func TestC8MemoryReturnsAfterAModerateBurst(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		requireMemoryReturns(t, shardq.Options[int]{Shards: shards, Clock: fake}, func(q *shardq.Queue[int]) {
			n := 400 * shards
			for item := range n {
				q.AddAfter(item, time.Second)
			}
			fake.Step(time.Minute)
			finishAll(t, q)
			for item := range 300 * shards {
				q.Add(item)
				finishOneByOne(t, q, 1)
			}
		})
		runtime.KeepAlive(fake)
	})
}

func TestC8BurstsDoNotAddUp(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		requireMemoryReturns(t, shardq.Options[int]{Shards: shards, Clock: fake}, func(q *shardq.Queue[int]) {
			const size = 10_000
			for burst := range 10 {
				for item := range size {
					q.Add(burst*size + item)
					q.AddAfter(burst*size+item, time.Second)
				}
				finishAll(t, q)
				fake.Step(time.Minute)
				finishAll(t, q)
			}
		})
		runtime.KeepAlive(fake)
	})
}

// H23: ten million items, most of which are done before the last is added.
func TestC8H23TenMillionThenIdle(t *testing.T) {
	n := scaled(10_000_000, 300_000)
	requireMemoryReturns(t, shardq.Options[int]{}, func(q *shardq.Queue[int]) {
		for item := range n {
			q.Add(item)
		}
		require.Equal(t, n, q.Len())
		finishOneByOne(t, q, n)
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

// finishOneByOne takes and ends n items, one after the other.
func finishOneByOne[T comparable](t *testing.T, q *shardq.Queue[T], n int) {
	t.Helper()
	for range n {
		item, shutdown := q.Get()
		if shutdown {
			t.Fatal("shutdown")
		}
		q.Done(item)
	}
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
			q.AddBatch([]*string{new(string), new(string), item}, shardq.AddOptions{})
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

// In steady state an operation allocates nothing.
func TestC8NoAllocationInSteadyState(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[request]{Shards: shards, Clock: fake})
		item, other := request{"namespace", "name"}, request{"namespace", "other"}
		for _, warm := range []request{item, other} {
			requireCycle(t, q, warm)
		}
		q.Add(other)
		takeItem(t, q, other)
		q.AddAfter(other, 1e6*time.Hour)
		allocations := testing.AllocsPerRun(5000, func() {
			q.Add(item)
			q.Add(item)
			q.AddAfter(item, time.Second)
			q.Get()
			q.Add(item)
			q.Done(item)
			q.Get()
			q.Done(item)
			fake.Step(2 * time.Second)
			q.Get()
			q.Done(item)
		})
		require.Zero(t, allocations)
	})
}
