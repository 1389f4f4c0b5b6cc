package contract

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shardq/shardq"
)

// forEachShutdown runs a test for both ways to shut down an idle queue.
func forEachShutdown(t *testing.T, test func(t *testing.T, shards int, shutDown func(*shardq.Queue[string]))) {
	ways := map[string]func(*shardq.Queue[string]){
		"ShutDown":          (*shardq.Queue[string]).ShutDown,
		"ShutDownWithDrain": (*shardq.Queue[string]).ShutDownWithDrain,
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			forEachShardCountInBubble(t, func(t *testing.T, shards int) { test(t, shards, way) })
		})
	}
}

func TestC10AddsAfterShutdownAreDropped(t *testing.T) {
	forEachShutdown(t, func(t *testing.T, shards int, shutDown func(*shardq.Queue[string])) {
		q := newQueue[string](shards)
		require.False(t, q.ShuttingDown())
		shutDown(q)
		require.True(t, q.ShuttingDown())
		q.Add("a")
		q.AddAfter("b", time.Second)
		q.AddAfter("c", -time.Second)
		q.AddRateLimited("d")
		requireCounts(t, q, 0, 0, 0)
		require.Equal(t, shardq.Stats{Shards: shards, Dropped: 4}, counts(q.Stats()))
		time.Sleep(time.Hour)
		requireCounts(t, q, 0, 0, 0)
		requireGetSaysShutdown(t, q)
	})
}

func TestC10ReadyItemsAreStillYielded(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		addAll(q, numbers(50))
		q.ShutDown()
		requireExactly(t, numbers(50), takeAll(t, q))
		requireGetSaysShutdown(t, q)
	})
}

// After a shutdown, Gets return true, then false, then true: an item that was
// dirty at the shutdown is ready again at its Done.
func TestC10TrueFalseTrue(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		takeItem(t, q, "a")
		q.Add("a")
		q.ShutDown()
		requireGetSaysShutdown(t, q)
		requireGetSaysShutdown(t, q)
		q.Done("a")
		takeItem(t, q, "a")
		requireGetSaysShutdown(t, q)
		q.Done("a")
		requireGetSaysShutdown(t, q)
	})
}

// Every parked Get, and every later one, returns the shutdown. None returns it
// together with an item.
func TestC10EveryCallerGetsTheShutdown(t *testing.T) {
	forEachShutdown(t, func(t *testing.T, shards int, shutDown func(*shardq.Queue[string])) {
		q := newQueue[string](shards)
		var reported atomic.Int32
		for range 100 {
			go func() {
				if item, shutdown := q.Get(); shutdown && item == "" {
					reported.Add(1)
				}
			}()
		}
		synctest.Wait()
		require.Zero(t, reported.Load())
		shutDown(q)
		synctest.Wait()
		require.EqualValues(t, 100, reported.Load())
		for range 100 {
			requireGetSaysShutdown(t, q)
		}
	})
}

func TestC10NoItemIsLostBetweenParkedGetsAndShutdown(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for range scaled(500, 100) {
			q := newQueue[int](shards)
			var items, reported atomic.Int64
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() {
					if _, shutdown := q.Get(); shutdown {
						reported.Add(1)
					} else {
						items.Add(1)
					}
				})
			}
			together(3, func(i int) {
				if i == 2 {
					q.ShutDown()
				}
				for n := range 6 { // 18 in all: fewer than parked consumers
					q.Add(6*i + n)
				}
			})
			group.Wait()
			require.EqualValues(t, 20, items.Load()+reported.Load())
			require.EqualValues(t, q.Stats().Added, items.Load())
			requireCounts(t, q, 0, 0, int(items.Load()))
		}
	})
}

func TestC11ShutDownWaitsForNobody(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("processing")
		takeItem(t, q, "processing")
		q.Add("processing")
		q.Add("ready")
		q.AddAfter("delayed", time.Hour)
		requireBecomesTrue(t, returned(q.ShutDown))
	})
}

// H19: a hundred shutdowns of both kinds, in any order, beside all other calls.
func TestC11H19ShutdownStorm(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for range scaled(30, 6) {
			testShutdownStorm(t, shards)
		}
	})
}

func testShutdownStorm(t *testing.T, shards int) {
	q := newQueue[int](shards)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Add(item)
				q.Done(item)
			}
		})
	}
	together(100, func(i int) {
		q.Add(i)
		q.AddAfter(i, time.Duration(i)*time.Millisecond)
		switch i % 4 {
		case 0:
			q.ShutDown()
		case 1:
			q.ShutDownWithDrain()
		case 2:
			q.AddRateLimited(i)
		}
		q.Add(i)
		q.ShuttingDown()
		q.Len()
		q.Done(-i - 1)
	})
	workers.Wait()
	requireCounts(t, q, 0, 0, 0)
	requireGetSaysShutdown(t, q)
}

func TestC11BeforeAnythingElse(t *testing.T) {
	forEachShutdown(t, func(t *testing.T, shards int, shutDown func(*shardq.Queue[string])) {
		q := newQueue[string](shards)
		for range 100 {
			shutDown(q)
		}
		q.Done("a")
		q.Forget("a")
		require.Zero(t, q.NumRequeues("a"))
		require.EqualValues(t, 1, q.Stats().Misused)
		requireGetSaysShutdown(t, q)
	})
}

func TestC13DelayedItemsAreDropped(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake})
		const waiting = 1000 // more than the queue handles in one hold of a lock
		for item := range waiting {
			q.AddAfter(item, time.Duration(item+1)*time.Minute)
		}
		fake.Step(time.Minute)
		takeItem(t, q, 0)
		q.AddAfter(0, time.Second)
		requireCounts(t, q, 0, waiting, 1)

		q.ShutDown()
		requireCounts(t, q, 0, 0, 1)
		require.EqualValues(t, waiting, q.Stats().Dropped)
		fake.Step(1e6 * time.Minute)
		requireCounts(t, q, 0, 0, 1)
		require.EqualValues(t, 1, q.Stats().Expired)
		q.Done(0)
		requireCounts(t, q, 0, 0, 0)
		require.Zero(t, q.Stats().Misused)
	})
}

// After either shutdown, with delayed items, no goroutine and no timer is left.
func TestC14NothingRunsAfterShutdown(t *testing.T) {
	forEachShutdown(t, func(t *testing.T, shards int, shutDown func(*shardq.Queue[string])) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: fake})
		q.AddAfter("a", time.Second)
		q.AddAfter("b", time.Hour)
		fake.Step(time.Second)
		takeItem(t, q, "a")
		q.Done("a")
		require.Equal(t, 1, fake.Timers())
		shutDown(q)
		require.Zero(t, fake.Timers())
		q.AddAfter("c", time.Second)
		require.Zero(t, fake.Timers())
	})
}

func TestC14NoGoroutineAfterShutdown(t *testing.T) {
	before := goleak.IgnoreCurrent()
	forEachShardCount(t, func(t *testing.T, shards int) {
		for name, shutDown := range map[string]func(*shardq.Queue[int]){
			"ShutDown":          (*shardq.Queue[int]).ShutDown,
			"ShutDownWithDrain": (*shardq.Queue[int]).ShutDownWithDrain,
		} {
			q := newQueue[int](shards)
			for item := range 100 {
				q.AddAfter(item, time.Duration(item)*time.Microsecond)
			}
			q.AddAfter(-1, time.Hour)
			var workers sync.WaitGroup
			for range 3 {
				workers.Go(func() {
					for {
						item, shutdown := q.Get()
						if shutdown {
							return
						}
						q.Done(item)
					}
				})
			}
			shutDown(q)
			workers.Wait()
			require.NoError(t, goleak.Find(before), name)
		}
	})
}

// A shutdown beside the running driver: the timer's function is in the middle
// of a thousand due items. ShutDown returns, and nothing expires afterwards.
func TestC14ShutdownAgainstTheDriver(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for round := range scaled(200, 40) {
			q := newQueue[int](shards)
			for item := range 1000 {
				q.AddAfter(item, time.Millisecond)
			}
			time.Sleep(time.Millisecond) // wakes at the instant of the timer
			for range round {
				q.Len()
			}
			q.ShutDown()
			stats := q.Stats()
			require.EqualValues(t, 1000, stats.Expired+stats.Dropped)
			require.Zero(t, stats.Delayed)
			synctest.Wait()
			require.Equal(t, stats, q.Stats())
		}
	})
}
