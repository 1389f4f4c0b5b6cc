package contract

import (
	"cmp"
	"fmt"
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

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/shard"
)

const tick = shardq.DefaultTick

// delays returns delays around the bounds of ticks and of the levels of the
// timer wheel.
func delays() []time.Duration {
	short := []time.Duration{
		1, time.Microsecond, tick - 1, tick, tick + 1, 1500 * time.Microsecond, 2 * tick,
		10 * time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 5 * 365 * 24 * time.Hour,
	}
	for span := 64 * tick; span < 1000*time.Hour; span *= 64 {
		short = append(short, span-tick, span-1, span, span+1, span+tick)
	}
	return short
}

func TestC19NeverEarlyAndAtMostOneTickLate(t *testing.T) {
	for _, tick := range []time.Duration{0, time.Microsecond, 10 * time.Millisecond, 7*time.Millisecond + 3, time.Hour} {
		t.Run(fmt.Sprintf("tick=%v", tick), func(t *testing.T) {
			forEachClock(t, func(t *testing.T, shards int, line timeline) {
				for _, delay := range delays() {
					testLateness(t, shards, line, tick, delay)
				}
			})
		})
	}
}

// testLateness delays an item on a queue whose age is no whole number of ticks.
func testLateness(t *testing.T, shards int, line timeline, tick, delay time.Duration) {
	q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: line.clock, Tick: tick})
	if tick == 0 {
		tick = shardq.DefaultTick
	}
	line.pass(tick * 3 / 10)
	q.AddAfter("a", delay)
	line.pass(delay - 1)
	require.Zero(t, q.Len(), "%v: early", delay)
	line.pass(tick)
	require.Equal(t, 1, q.Len(), "%v: more than a tick late", delay)
	q.ShutDown()
}

// An idle queue wakes its consumer on time.
func TestC19ConsumerIsWokenOnTime(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		for n, delay := range delays() {
			time.Sleep(123_457) // never at the same place within a tick
			start := time.Now()
			q.AddAfter(n, delay)
			item, _ := q.Get()
			lateness := time.Since(start) - delay
			require.Equal(t, n, item)
			require.GreaterOrEqual(t, lateness, time.Duration(0), "%v: early", delay)
			require.LessOrEqual(t, lateness, tick, "%v: late", delay)
			q.Done(item)
		}
	})
}

// Many items at once, each with its own deadline: none early, none late.
func TestC19ManyItems(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		random := rand.New(rand.NewPCG(uint64(shards), 4))
		q := newQueue[int](shards)
		n := scaled(50_000, 5_000)
		deadlines := make([]time.Time, n)
		for item := range n {
			delay := time.Duration(1 + random.Int64N(int64(time.Minute)))
			deadlines[item] = time.Now().Add(delay)
			q.AddAfter(item, delay)
		}
		for range n {
			item, _ := q.Get()
			lateness := time.Since(deadlines[item])
			require.GreaterOrEqual(t, lateness, time.Duration(0), "early")
			require.LessOrEqual(t, lateness, tick, "late")
			q.Done(item)
		}
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC20H11NoDelayAddsNow(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		for _, delay := range []time.Duration{0, -1, -time.Hour, math.MinInt64} {
			q := newQueueOn[string](shards, line)
			q.AddAfter("a", delay)
			requireCounts(t, q, 1, 0, 0)
			takeItem(t, q, "a")
			q.AddAfter("a", delay) // dirty
			requireCounts(t, q, 0, 0, 1)
			q.Done("a")
			takeItem(t, q, "a")
			q.Done("a")
		}
	})
}

func TestC20NoDelayLeavesAnExistingTimer(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		for _, delay := range []time.Duration{0, math.MinInt64} {
			q := newQueueOn[string](shards, line)
			q.AddAfter("a", time.Second)
			q.AddAfter("a", delay)
			requireCounts(t, q, 1, 1, 0)
			takeItem(t, q, "a")
			q.Done("a")
			line.pass(time.Second - 1)
			requireCounts(t, q, 0, 1, 0)
			line.pass(tick + 1)
			requireCounts(t, q, 1, 0, 0)
		}
	})
}

func TestC21H12EarliestDeadlineWins(t *testing.T) {
	for _, order := range [][]time.Duration{
		{10 * time.Second, time.Second},
		{time.Second, 10 * time.Second},
		{3 * time.Second, time.Second, 2 * time.Second},
		{time.Second, time.Second},
		{math.MaxInt64, time.Second},
		{time.Second, math.MaxInt64},
		{time.Second + tick, time.Second},
		{time.Second, time.Second + tick},
	} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			forEachClock(t, func(t *testing.T, shards int, line timeline) {
				testEarliestWins(t, newQueueOn[string](shards, line), line, order)
			})
		})
	}
}

// testEarliestWins expects one run after one second.
func testEarliestWins(t *testing.T, q *shardq.Queue[string], line timeline, order []time.Duration) {
	for _, delay := range order {
		q.AddAfter("a", delay)
		requireCounts(t, q, 0, 1, 0)
	}
	line.pass(time.Second - 1)
	requireCounts(t, q, 0, 1, 0)
	line.pass(1 + tick)
	takeItem(t, q, "a")
	q.Done("a")
	line.pass(time.Hour)
	requireCounts(t, q, 0, 0, 0)
	require.EqualValues(t, 1, q.Stats().Expired, "it fires once")
}

// The earlier deadline counts also when time has passed between the two calls.
func TestC21DeadlinesAreComparedNotDelays(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		q.AddAfter("a", 10*time.Second)
		line.pass(8 * time.Second)
		q.AddAfter("a", 5*time.Second) // shorter, but expires later
		line.pass(2*time.Second - 1)
		require.Zero(t, q.Len())
		line.pass(1 + tick)
		takeItem(t, q, "a")
		line.pass(time.Hour)
		requireCounts(t, q, 0, 0, 1)
	})
}

func TestC22H11HugeDelays(t *testing.T) {
	for _, tick := range []time.Duration{0, 1, time.Hour, math.MaxInt64} {
		t.Run(fmt.Sprintf("tick=%d", tick), func(t *testing.T) {
			forEachShardCount(t, func(t *testing.T, shards int) {
				fake := newFake()
				q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake, Tick: tick})
				huge := []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2, math.MaxInt64/2 + 1}
				for n, delay := range huge {
					q.AddAfter(n, delay)
				}
				for range 100 {
					fake.Step(365 * 24 * time.Hour)
					requireCounts(t, q, 0, len(huge), 0)
				}
				q.ShutDown()
				require.EqualValues(t, len(huge), q.Stats().Dropped)
			})
		})
	}
}

// An item that is delayed forever does not hold up others.
func TestC22HugeDelayBesideShortOnes(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		q.AddAfter("never", math.MaxInt64)
		q.AddAfter("soon", time.Second)
		q.AddAfter("later", time.Hour)
		line.pass(time.Second + tick)
		require.Equal(t, []string{"soon"}, finishAll(t, q))
		line.pass(time.Hour)
		require.Equal(t, []string{"later"}, finishAll(t, q))
		q.AddAfter("never", time.Second)
		line.pass(time.Second + tick)
		require.Equal(t, []string{"never"}, finishAll(t, q))
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC23H13AddOfDelayedItem(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		q.AddAfter("a", time.Second)
		q.Add("a")
		requireCounts(t, q, 1, 1, 0)
		takeItem(t, q, "a")
		q.Done("a")
		requireCounts(t, q, 0, 1, 0)
		line.pass(time.Second + tick)
		requireCounts(t, q, 1, 0, 0)
		takeItem(t, q, "a")
		q.Done("a")
		requireCounts(t, q, 0, 0, 0)
	})
}

// A delay that expires while its item is ready, in processing, or dirty is an
// Add at that time.
func TestC23DelayExpiresInEachState(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		q.Add("a")
		q.AddAfter("a", time.Second)
		line.pass(time.Second + tick)
		requireCounts(t, q, 1, 0, 0)

		takeItem(t, q, "a")
		for range 2 { // the second finds it dirty
			q.AddAfter("a", time.Second)
			requireCounts(t, q, 0, 1, 1)
			line.pass(time.Second + tick)
			requireCounts(t, q, 0, 0, 1)
		}
		q.Done("a")
		requireCounts(t, q, 1, 0, 0)
		takeItem(t, q, "a")
		q.Done("a")
		requireCounts(t, q, 0, 0, 0)
	})
}

// A delay outlives the item's other states.
func TestC23DoneOfDelayedItem(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		q.Add("a")
		takeItem(t, q, "a")
		q.AddAfter("a", time.Second)
		q.Done("a")
		requireCounts(t, q, 0, 1, 0)
		line.pass(time.Second + tick)
		takeItem(t, q, "a")
		q.Done("a")
		line.pass(time.Hour)
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC23H13AddOfDelayedItemCancelsItsDelay(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := engine.Follow(shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: line.clock}), shard.Rules{CancelDelayOnAdd: true})
		q.AddAfter("a", time.Second)
		q.AddAfter("b", time.Second)
		q.Add("a")
		requireCounts(t, q, 1, 1, 0)
		takeItem(t, q, "a")
		q.AddAfter("a", time.Second)
		requireCounts(t, q, 0, 2, 1)
		q.Add("a") // dirty, and the delay is canceled
		requireCounts(t, q, 0, 1, 1)
		q.Done("a")
		takeItem(t, q, "a")
		q.Done("a")
		line.pass(time.Hour)
		require.Equal(t, []string{"b"}, finishAll(t, q), "the delay of another item goes on")

		q.AddAfter("a", time.Second) // a canceled delay can be set again
		line.pass(time.Second + tick)
		require.Equal(t, []string{"a"}, finishAll(t, q))
		requireCounts(t, q, 0, 0, 0)
	})
}

// A canceled delay does not expire for the item that reuses its entry.
func TestC23CancelledTimersAreForgotten(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := engine.Follow(shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake}), shard.Rules{CancelDelayOnAdd: true})
		for item := range 1000 {
			q.AddAfter(item, time.Second)
			q.Add(item)
			takeItem(t, q, item)
			q.Done(item)
		}
		requireCounts(t, q, 0, 0, 0)
		addAll(q, []int{-1, -2, -3})
		takeAll(t, q)
		fake.Step(time.Hour)
		requireCounts(t, q, 0, 0, 3)
		require.Zero(t, q.Stats().Expired)
	})
}

func TestC24OneStepPassesManyDeadlines(t *testing.T) {
	fake := newFake()
	q := newQueueOn[int](1, timeline{clock: fake})
	random := rand.New(rand.NewPCG(1, 5))
	var delays []time.Duration
	for range 3000 {
		// Over all levels of the wheel, and at distinct ticks, because items of
		// one tick tie.
		delay := time.Duration(1+random.Int64N(1<<(1+random.IntN(33)))) * tick
		if !slices.Contains(delays, delay) {
			q.AddAfter(len(delays), delay)
			delays = append(delays, delay)
		}
	}
	fake.Step(400 * 24 * time.Hour)
	items := takeAll(t, q)
	require.Len(t, items, len(delays))
	require.True(t, slices.IsSortedFunc(items, func(a, b int) int { return cmp.Compare(delays[a], delays[b]) }))
}

func TestC24DeadlineOrderWithinAShard(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		type dated struct {
			group uint64
			delay time.Duration
		}
		random := rand.New(rand.NewPCG(1, 6))
		items := make([]dated, 3000)
		for i := range items {
			items[i] = dated{random.Uint64N(10), time.Duration(1+random.IntN(100_000)) * tick}
		}
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{
			Shards: shards, Clock: fake,
			Hash: func(i int) uint64 { return items[i].group },
		})
		for i, item := range items {
			q.AddAfter(i, item.delay)
		}
		group := func(i int) uint64 { return items[i].group }
		delay := func(i int) time.Duration { return items[i].delay }
		for fake.Step(30 * time.Second); ; fake.Step(30 * time.Second) {
			requireSortedWithin(t, takeAll(t, q), group, delay)
			if q.Stats().Delayed == 0 {
				break
			}
		}
	})
}

// requireSortedWithin checks that the items of each group are in order.
func requireSortedWithin[T any, G comparable, K cmp.Ordered](t *testing.T, items []T, group func(T) G, key func(T) K) {
	t.Helper()
	last := map[G]T{}
	for _, item := range items {
		g := group(item)
		if before, ok := last[g]; ok {
			require.LessOrEqual(t, key(before), key(item))
		}
		last[g] = item
	}
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

// H22 once more, with the largest number of shards, so that the driver takes
// long to read their deadlines, and with one item at a time. If the driver
// forgets it, no other item makes the driver run.
func TestH22AddWhileTheDriverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](shardq.MaxShards)
		random := rand.New(rand.NewPCG(1, 11))
		for item := range scaled(6_000, 1_500) {
			q.AddAfter(-1, tick)
			time.Sleep(tick) // wakes together with the timer
			for range random.IntN(20) {
				q.ShuttingDown()
				runtime.Gosched()
			}
			q.AddAfter(item, tick)
			for range 2 {
				got, _ := q.Get()
				q.Done(got)
			}
			requireCounts(t, q, 0, 0, 0)
		}
	})
}

// A deadline is set before the one that the timer is set for, in the same shard
// or in another.
func TestC19EarlierDeadlineWakesTheDriver(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[int](shards, line)
		for seconds := 50; seconds > 0; seconds-- {
			q.AddAfter(seconds, time.Duration(seconds)*time.Second)
		}
		line.pass(tick)
		for seconds := 1; seconds <= 50; seconds++ {
			line.pass(time.Second - 2*tick)
			require.Zero(t, q.Len())
			line.pass(2 * tick)
			require.Equal(t, []int{seconds}, finishAll(t, q))
		}
	})
}
