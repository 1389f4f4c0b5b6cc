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
)

// A payload is what an item points to. A weak pointer shows whether the
// collector freed it.
type payload [64]byte

// waysOfAnItem are ways of an item through a queue, up to the point where the
// queue holds it no more.
var waysOfAnItem = map[string]func(t *testing.T, q anyQueue, item any, pass func(time.Duration)){
	"a dirty cycle": func(t *testing.T, q anyQueue, item any, _ func(time.Duration)) {
		q.Add(item)
		take(t, q)
		q.Add(item)
		q.Done(item)
		q.Done(take(t, q))
	},
	"a delay and a cycle": func(t *testing.T, q anyQueue, item any, pass func(time.Duration)) {
		q.AddAfter(item, time.Hour)
		q.Add(item)
		q.Done(take(t, q))
		q.AddAfter(item, time.Second)
		pass(2 * time.Second)
		q.Done(take(t, q))
	},
	"a delay that is canceled": func(_ *testing.T, q anyQueue, item any, _ func(time.Duration)) {
		q.AddAfter(item, time.Hour)
		q.Cancel(item)
	},
	"a retry": func(t *testing.T, q anyQueue, item any, pass func(time.Duration)) {
		q.AddRateLimited(item)
		pass(time.Second)
		q.Forget(item)
		q.Done(take(t, q))
	},
	"a window": func(t *testing.T, q anyQueue, item any, pass func(time.Duration)) {
		q.AddWith(item, shardq.AddOptions{NotAgainWithin: time.Second, Priority: 3})
		q.Done(take(t, q))
		pass(time.Minute)
	},
	"misuse": func(_ *testing.T, q anyQueue, item any, _ func(time.Duration)) {
		q.Done(item)
		q.Forget(item)
		q.NumRequeues(item)
	},
}

// Nothing refers to an item that is gone, while the queue has others, added
// before and after, so that its storage stays in use.
func TestC7NothingRefersToAnItemAmongOthers(t *testing.T) {
	for name, way := range waysOfAnItem {
		t.Run(name, func(t *testing.T) {
			forEachShardCount(t, func(t *testing.T, shards int) {
				fake := newFake()
				q := shardq.MustNew(shardq.Options[any]{Shards: shards, Clock: fake, Ages: true})
				for i := range 600 {
					q.Add(i)
				}
				takeAll(t, q)
				q.AddAfter(1000, 1000*time.Hour)
				requireCollected(t, func(items []any) {
					for _, item := range items {
						way(t, q, item, fake.Step)
					}
				})
				requireCounts(t, q, 0, 1, 600)
				runtime.KeepAlive(q)
			})
		})
	}
}

func TestC7NothingRefersToItemsDroppedAtShutdown(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[any]{Shards: shards, Clock: newFake()})
		requireCollected(t, func(items []any) {
			for _, item := range items {
				q.AddAfter(item, time.Hour)
			}
			q.ShutDown()
			for _, item := range items {
				q.Add(item)
				q.AddAfter(item, time.Hour)
			}
		})
		runtime.KeepAlive(q)
	})
}

// requireCollected calls use with new items, and checks that nothing refers to
// any of them afterwards.
func requireCollected(t *testing.T, use func([]any)) {
	left := makeAndUse(use)
	for range 5 {
		runtime.GC()
	}
	for _, item := range left {
		require.Nil(t, item.Value(), "something refers to it")
	}
}

// makeAndUse has a frame of its own, so that the caller's holds no item.
//
//go:noinline
func makeAndUse(use func([]any)) (left []weak.Pointer[payload]) {
	items := make([]any, 50)
	for i := range items {
		p := &payload{byte(i)}
		items[i], left = p, append(left, weak.Make(p))
	}
	use(items)
	return left
}

// constantOfC8 is the constant in "at most twice the memory of a new queue plus
// a small constant".
const constantOfC8 = 32 << 10

// heap returns the bytes of live objects, once no collection finds less: earlier
// tests leave pools and goroutines that end.
func heap() (bytes int64) {
	var stats runtime.MemStats
	for last := int64(math.MaxInt64); ; last = bytes {
		runtime.GC()
		runtime.GC() // the second one empties the pools
		runtime.ReadMemStats(&stats)
		if bytes = int64(stats.HeapAlloc); bytes >= last {
			return bytes
		}
	}
}

// requireMemoryReturns makes a queue, uses it, and compares its memory when
// idle with its memory when new. use returns the number of items of the burst.
func requireMemoryReturns[T comparable](t *testing.T, options shardq.Options[T], use func(q *shardq.Queue[T]) (n int)) {
	before := heap()
	q := shardq.MustNew(options)
	fresh := heap() - before
	n := use(q)
	if n > 0 { // otherwise it has gone, and what earlier tests have left goes as well
		require.Greater(t, heap()-before, int64(n*20), "the burst was none")
	}
	for left := q.Len(); left > 0; left-- {
		item, _ := q.Get()
		q.Done(item)
	}
	if fake, ok := options.Clock.(*clock.Fake); ok {
		fake.Step(time.Minute) // ends the waits
	}
	require.Zero(t, q.Stats().Held)
	idle := heap() - before
	runtime.KeepAlive(q)
	require.LessOrEqual(t, idle, 2*max(fresh, 0)+constantOfC8, "fresh: %d bytes", fresh) // less than nothing if others have ended meanwhile
}

// burstSize is less for numbers of shards that are not usual, to save time.
func burstSize(shards int) int {
	if shards < 16 {
		return scaled(200_000, 50_000)
	}
	return scaled(1_000_000, 100_000)
}

func TestC8MemoryReturnsAfterABurst(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("a-namespace/the-name-of-object-%08d", i) }
	bursts := map[string]func(q *shardq.Queue[string], fake *clock.Fake, n int){
		"ready": func(q *shardq.Queue[string], _ *clock.Fake, n int) {
			for i := range n {
				q.Add(name(i))
			}
		},
		"delayed": func(q *shardq.Queue[string], fake *clock.Fake, n int) {
			for i := range n {
				q.AddAfter(name(i), time.Duration(1+i)*time.Millisecond)
			}
			fake.Step(time.Duration(n+1) * time.Millisecond)
		},
		"windows": func(q *shardq.Queue[string], _ *clock.Fake, n int) {
			for i := range n / 4 {
				q.AddWith(name(i), shardq.AddOptions{NotAgainWithin: time.Duration(1+i%50) * time.Second})
			}
		},
		"pauses of groups": func(q *shardq.Queue[string], fake *clock.Fake, n int) {
			for i := range n {
				q.PauseGroup(name(i), fake.Now().Add(time.Second))
			}
		},
	}
	for burst, use := range bursts {
		t.Run(burst, func(t *testing.T) {
			forEachShardCount(t, func(t *testing.T, shards int) {
				fake := newFake()
				options := shardq.Options[string]{Shards: shards, Clock: fake}
				if burst == "pauses of groups" {
					options.Group = func(item string) string { return item }
				}
				requireMemoryReturns(t, options, func(q *shardq.Queue[string]) int {
					n := burstSize(shards)
					use(q, fake, n)
					return n / 4
				})
			})
		})
	}
}

func TestC8C80MemoryOfCanceledWindowsReturns(t *testing.T) {
	requireMemoryReturns(t, shardq.Options[int]{Shards: 16, Clock: newFake()}, func(q *shardq.Queue[int]) int {
		q.AddBatch(numbers(20_000), shardq.AddOptions{NotAgainWithin: time.Hour})
		for _, item := range numbers(20_000) {
			q.Cancel(item)
		}
		return 0
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
		for item := range scaled(300_000, 50_000) {
			q.AddAfter(item, time.Second)
		}
		burst := heap() - before
		fake.Step(time.Minute)
		finishAll(t, q)
		requireCounts(t, q, 0, 1, 0)
		require.Less(t, heap()-before, burst/20)
		runtime.KeepAlive(q)
	})
}

// H24: processes have that many queues.
func TestC25H24TenThousandIdleQueues(t *testing.T) {
	for _, shards := range []int{0, 1, 16} { // the default is 32 at most
		const limit = 8 << 10
		n := scaled(10_000, 2_000)
		queues := make([]*shardq.Queue[string], n)
		goroutines := runtime.NumGoroutine()
		before := heap()
		for i := range queues {
			queues[i] = shardq.MustNew(shardq.Options[string]{Shards: shards})
		}
		require.LessOrEqual(t, (heap()-before)/int64(n), int64(limit), "bytes for a new queue")
		for _, q := range queues {
			requireCycle(t, q, "a")
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "a goroutine without a delay")
		runtime.KeepAlive(queues)
	}
}

// A queue without references is collected without a ShutDown, with its items,
// also if its timer is set. The timer then does nothing.
func TestC14C25ForgottenQueueIsCollected(t *testing.T) {
	for name, use := range map[string]func(q anyQueue, c *clock.Fake, item any){
		"a delayed item": func(q anyQueue, _ *clock.Fake, item any) { q.AddAfter(item, time.Hour) },
		"a window": func(q anyQueue, _ *clock.Fake, item any) {
			q.AddWith(item, shardq.AddOptions{NotAgainWithin: time.Hour})
		},
		"a paused group, after a shutdown": func(q anyQueue, c *clock.Fake, item any) {
			q.Add(item)
			q.PauseGroup("all", c.Now().Add(time.Hour))
			q.ShutDown()
		},
		"a rate, after a shutdown": func(q anyQueue, _ *clock.Fake, item any) {
			q.SetRate(shardq.Rate{PerSecond: 1.0 / 3600})
			q.AddBatch([]any{1, 2, item}, shardq.AddOptions{})
			q.Get()
			q.TryClaim() // which finds no token
			q.ShutDown()
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake()
			requireCollected(t, func(items []any) {
				for _, item := range items {
					use(shardq.MustNew(shardq.Options[any]{
						Shards: 2, Clock: fake, Group: func(any) string { return "all" },
					}), fake, item)
				}
			})
			fake.Step(2 * time.Hour)
			require.Zero(t, fake.Timers())
		})
	}
}
