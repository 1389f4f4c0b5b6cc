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

// A shut-down Get says true, then false, then true: an item that was dirty at the
// shutdown comes back at its Done.
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

// Everybody who sleeps in Get, and everybody who comes later, is told; nobody is
// told so in the place of an item.
func TestC10EveryCallerIsTold(t *testing.T) {
	forEachShutdown(t, func(t *testing.T, shards int, shutDown func(*shardq.Queue[string])) {
		q := newQueue[string](shards)
		var told atomic.Int32
		for range 100 {
			go func() {
				if item, shutdown := q.Get(); shutdown && item == "" {
					told.Add(1)
				}
			}()
		}
		synctest.Wait()
		require.Zero(t, told.Load())
		shutDown(q)
		synctest.Wait()
		require.EqualValues(t, 100, told.Load())
		for range 100 {
			requireGetSaysShutdown(t, q)
		}
	})
}

func TestC10NoItemIsLostBetweenSleepersAndShutdown(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for range scaled(500, 100) {
			q := newQueue[int](shards)
			var items, told atomic.Int64
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() {
					if _, shutdown := q.Get(); shutdown {
						told.Add(1)
					} else {
						items.Add(1)
					}
				})
			}
			together(3, func(i int) {
				if i == 2 {
					q.ShutDown()
				}
				for n := range 6 { // 18 in all: fewer than sleepers
					q.Add(6*i + n)
				}
			})
			group.Wait()
			require.EqualValues(t, 20, items.Load()+told.Load())
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
		q.AddAfter("waiting", time.Hour)
		requireBecomesTrue(t, returned(q.ShutDown))
	})
}

// H19: a hundred shutdowns of both kinds, in any order, against everything else.
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

func TestC13WaitingItemsAreDropped(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.Must(shardq.Options[int]{Shards: shards, Clock: fake})
		const waiting = 1000 // more than one hold of a lock deals with
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
		require.EqualValues(t, 1, q.Stats().Fired)
		q.Done(0)
		requireCounts(t, q, 0, 0, 0)
		require.Zero(t, q.Stats().Misused)
	})
}

// After either shutdown, with items waiting, no goroutine and no timer is left.
func TestC14NothingRunsAfterShutdown(t *testing.T) {
	forEachShutdown(t, func(t *testing.T, shards int, shutDown func(*shardq.Queue[string])) {
		fake := newFake()
		q := shardq.Must(shardq.Options[string]{Shards: shards, Clock: fake})
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

// A shutdown against the driver at work: with the timer's function in the middle of
// a thousand due items, ShutDown returns, and nothing fires afterwards.
func TestC14ShutdownAgainstTheDriver(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for round := range scaled(200, 40) {
			q := newQueue[int](shards)
			for item := range 1000 {
				q.AddAfter(item, time.Millisecond)
			}
			time.Sleep(time.Millisecond) // ends at the instant of the timer
			for range round {
				q.Len()
			}
			q.ShutDown()
			stats := q.Stats()
			require.EqualValues(t, 1000, stats.Fired+stats.Dropped)
			require.Zero(t, stats.Waiting)
			synctest.Wait()
			require.Equal(t, stats, q.Stats())
		}
	})
}
