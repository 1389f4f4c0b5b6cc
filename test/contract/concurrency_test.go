package contract

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

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

// newBounded returns a queue with a capacity.
func newBounded[T comparable](shards, capacity int) *shardq.Queue[T] {
	return shardq.MustNew(shardq.Options[T]{Shards: shards, Capacity: capacity})
}

// Many producers share a small capacity: all are admitted, and the limit always
// holds.
func TestC40BoundHoldsUnderLoad(t *testing.T) { forEachShardCount(t, checkBoundUnderLoad) }

func checkBoundUnderLoad(t *testing.T, shards int) {
	const capacity, producers, each = 4, 8, 500
	q := newBounded[int](shards, capacity)
	var producing, consuming sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			for i := range each {
				require.NoError(t, q.AddContext(context.Background(), p*each+i))
			}
		})
	}
	var mu sync.Mutex
	var seen []int
	for range 3 {
		consuming.Go(func() {
			for item := range q.Items(context.Background()) {
				stats := q.Stats() // with one shard, a reading of one moment
				if held := stats.Ready + stats.Processing; shards == 1 && held > capacity {
					t.Errorf("%d items are held", held)
				}
				mu.Lock()
				seen = append(seen, item)
				mu.Unlock()
			}
		})
	}
	producing.Wait()
	q.ShutDownWithDrain()
	consuming.Wait()
	slices.Sort(seen)
	require.Len(t, slices.Compact(seen), producers*each)
	require.Zero(t, q.Stats().OverCapacity)
}

// H22: deadlines are set while the driver becomes idle, runs, or has just
// become idle. In a bubble, time stands while any goroutine can run. So an item
// that is more than a tick late was forgotten until a later deadline.
func TestH22AddRacingTheDriver(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		const producers = 6
		n := scaled(5_000, 800)
		deadlines := make([]time.Time, producers*n)
		q := newQueue[int](shards)
		var group sync.WaitGroup
		for producer := range producers {
			random := rand.New(rand.NewPCG(uint64(producer), 7))
			group.Go(func() {
				for item := producer * n; item < (producer+1)*n; item++ {
					delay := time.Duration(1+random.IntN(4)) * tick
					deadlines[item] = time.Now().Add(delay)
					q.AddAfter(item, delay)
					// Whole ticks, so that this goroutine wakes with the timer.
					time.Sleep(time.Duration(random.IntN(5)) * tick)
				}
			})
		}
		var early, late atomic.Int32
		for range producers * n {
			item, _ := q.Get()
			lateness := time.Since(deadlines[item])
			if lateness < 0 {
				early.Add(1)
			}
			if lateness > tick {
				late.Add(1)
			}
			q.Done(item)
		}
		group.Wait()
		require.Zero(t, early.Load(), "early")
		require.Zero(t, late.Load(), "late")
		synctest.Wait()
		requireCounts(t, q, 0, 0, 0)
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

func newOwners(keys int) *owners { return &owners{words: make([]atomic.Bool, keys)} }

func newLoad(shards int) *load {
	const keys = 24 // few, so that most adds find their key ready or in processing
	return &load{q: newQueue[int](shards), keys: keys, owners: newOwners(keys)}
}

func TestC1ExclusionUnderLoad(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		h := newLoad(shards)
		h.run(scaled(100_000, 8_000), h.consume, func() {})
		h.requireSound(t)
	})
}

func TestC1ExclusionThroughShutdown(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range scaled(40, 10) {
			h := newLoad(shards)
			h.run(math.MaxInt, h.consume, func() {
				for h.served.Load() < 200 {
					runtime.Gosched()
				}
				together(3, func(i int) {
					if i == 0 {
						h.q.ShutDownWithDrain()
					}
					h.q.ShutDown()
				})
			})
			h.requireSound(t)
		}
	})
}

func TestH18WorkersThatPanicOrGoexit(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		h := newLoad(shards)
		h.run(scaled(20_000, 3_000), h.consumeMortally, func() {})
		h.requireSound(t)
	})
}

// The work moves from shard to shard: the next item is added before the Done of
// the one before. So there is always an item, and WaitIdle does not return.
func TestC59HoppingItemIsNotOverlooked(t *testing.T) {
	for _, shards := range []int{1, 2, 16} {
		q := newQueue[int](shards)
		ctx, cancel := context.WithCancel(t.Context())
		var hopping atomic.Bool
		hopping.Store(true)
		q.Add(0)
		early := make(chan bool, 1)
		for range 2 {
			go func() {
				for ctx.Err() == nil {
					if q.WaitIdle(ctx) == nil && hopping.Load() {
						select {
						case early <- true:
						default:
						}
						return
					}
				}
			}()
		}
		for hop := range scaled(300_000, 30_000) {
			item, _ := q.Get()
			q.Add(hop + 1)
			q.Done(item)
		}
		hopping.Store(false)
		item, _ := q.Get()
		q.Done(item)
		require.NoError(t, q.WaitIdle(ctx))
		cancel()
		require.Empty(t, early, "WaitIdle returned while an item was held")
	}
}

// An inspection beside busy workers lists the items that are in processing
// throughout, none that is not there, and none twice.
func TestC43InspectionsBesideWorkers(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Ages: true})
		const held, items = 16, 64
		q.AddBatch(numbers(held))
		takeAll(t, q)
		q.AddBatch(numbers(items)[held:])
		workers := returned(func() {
			together(4, func(int) {
				for item := range q.Items(t.Context()) {
					q.Add(item)
					runtime.Gosched() // or an inspection would take many time slices
				}
			})
		})
		for range scaled(2000, 200) {
			seen := map[int]bool{}
			for row := range q.All(stats.Processing) {
				require.False(t, seen[row.Item], "shown twice")
				require.Less(t, row.Item, items, "it was never added")
				require.False(t, row.Since.IsZero())
				seen[row.Item] = true
			}
			for item := range held {
				require.True(t, seen[item], "it is in processing, and not shown")
			}
			require.Equal(t, held, len(slices.DeleteFunc(itemsOf(q.Snapshot(items).Processing), func(i int) bool { return i >= held })))
			runtime.Gosched()
		}
		q.DoneBatch(numbers(held))
		q.ShutDown()
		for !workers() {
			runtime.Gosched()
		}
	})
}

// With several consumers, each producer adds its key again only after the key
// was handed out, while a few hot keys never leave the queue.
func TestC5NobodyStarvesBesideManyConsumers(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		const rare, hot, rounds = 8, 40, 50
		q := newQueue[int](shards)
		var rest atomic.Int64
		rest.Store(rare * rounds)
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for rest.Load() > 0 {
					item, _ := q.Get()
					if item >= rare || rest.Add(-1) >= rare {
						q.Add(item)
					}
					q.Done(item)
				}
			})
		}
		addAll(q, numbers(rare+hot))
		workers.Wait() // blocks forever if a rare key is never handed out
	})
}

// manyParked returns the number of parked consumers of H25. The race detector
// supports at most about 8,000 goroutines.
func manyParked() int { return scaled(100_000, 4_000) }

func TestH25ManyParkedGetsReleasedByShutDown(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		var reported atomic.Int32
		var group sync.WaitGroup
		for range manyParked() {
			group.Go(func() {
				if item, shutdown := q.Get(); shutdown && item == 0 {
					reported.Add(1)
				}
			})
		}
		synctest.Wait()
		require.Zero(t, reported.Load())
		q.ShutDown()
		group.Wait()
		require.EqualValues(t, manyParked(), reported.Load())
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
