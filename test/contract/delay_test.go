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
)

const tick = shardq.DefaultTick

// delays are those at which something changes: in the rounding to a tick, and from
// one level of the timer wheel to the next.
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

// testLateness has an item wait on a queue whose age is no whole number of ticks.
func testLateness(t *testing.T, shards int, line timeline, tick, delay time.Duration) {
	q := shardq.Must(shardq.Options[string]{Shards: shards, Clock: line.clock, Tick: tick})
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

// An idle queue wakes its consumer on time, not only its counters.
func TestC19ConsumerIsWokenOnTime(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[time.Duration](shards)
		for _, delay := range delays() {
			time.Sleep(123_457) // never at the same place within a tick
			start := time.Now()
			q.AddAfter(delay, delay)
			item, _ := q.Get()
			lateness := time.Since(start) - delay
			require.Equal(t, delay, item)
			require.GreaterOrEqual(t, lateness, time.Duration(0), "%v: early", delay)
			require.LessOrEqual(t, lateness, tick, "%v: late", delay)
			q.Done(item)
		}
	})
}

// Many items at once, each with its own deadline: none early, none late.
func TestC19ManyItems(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		type dated struct {
			number   int
			deadline time.Time
		}
		random := rand.New(rand.NewPCG(uint64(shards), 4))
		q := newQueue[dated](shards)
		n := scaled(50_000, 5_000)
		for number := range n {
			delay := time.Duration(1 + random.Int64N(int64(time.Minute)))
			q.AddAfter(dated{number, time.Now().Add(delay)}, delay)
		}
		for range n {
			item, _ := q.Get()
			lateness := time.Since(item.deadline)
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
	require.EqualValues(t, 1, q.Stats().Fired, "it fires once")
}

// The earlier deadline counts also when time has passed between the two calls.
func TestC21DeadlinesAreComparedNotDelays(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		q.AddAfter("a", 10*time.Second)
		line.pass(8 * time.Second)
		q.AddAfter("a", 5*time.Second) // ends later, for all that it is shorter
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
				q := shardq.Must(shardq.Options[time.Duration]{Shards: shards, Clock: fake, Tick: tick})
				huge := []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2, math.MaxInt64/2 + 1}
				for _, delay := range huge {
					q.AddAfter(delay, delay)
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

// Whoever waits for ever does not keep others waiting.
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

func TestC23H13AddOfWaitingItem(t *testing.T) {
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

// A delay that ends while its item is ready, in processing, or dirty, is an Add at
// that time.
func TestC23DelayThatEndsElsewhere(t *testing.T) {
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

// A timer outlives the entry's other states, and not its own end.
func TestC23DoneOfItemThatWaits(t *testing.T) {
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

func TestC23H13AddOfWaitingItemCancelsItsDelay(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := shardq.Must(shardq.Options[string]{Shards: shards, Clock: line.clock, CancelDelayOnAdd: true})
		q.AddAfter("a", time.Second)
		q.AddAfter("b", time.Second)
		q.Add("a")
		requireCounts(t, q, 1, 1, 0)
		takeItem(t, q, "a")
		q.AddAfter("a", time.Second)
		requireCounts(t, q, 0, 2, 1)
		q.Add("a") // dirty, and the delay is over
		requireCounts(t, q, 0, 1, 1)
		q.Done("a")
		takeItem(t, q, "a")
		q.Done("a")
		line.pass(time.Hour)
		require.Equal(t, []string{"b"}, finishAll(t, q), "the delay of another item goes on")

		q.AddAfter("a", time.Second) // what was cancelled can be set anew
		line.pass(time.Second + tick)
		require.Equal(t, []string{"a"}, finishAll(t, q))
		requireCounts(t, q, 0, 0, 0)
	})
}

// Recycled entries: a cancelled timer does not fire for the item that came after.
func TestC23CancelledTimersAreForgotten(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.Must(shardq.Options[int]{Shards: shards, Clock: fake, CancelDelayOnAdd: true})
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
		require.Zero(t, q.Stats().Fired)
	})
}

func TestC24OneStepPassesManyDeadlines(t *testing.T) {
	fake := newFake()
	q := shardq.Must(shardq.Options[time.Duration]{Shards: 1, Clock: fake})
	random := rand.New(rand.NewPCG(1, 5))
	var items []time.Duration
	for range 3000 {
		// Over all levels of the wheel; distinct ticks, for those of one tick tie.
		item := time.Duration(1+random.Int64N(1<<(1+random.IntN(33)))) * tick
		items = append(items, item)
		q.AddAfter(item, item)
	}
	fake.Step(400 * 24 * time.Hour)
	slices.Sort(items)
	require.Equal(t, slices.Compact(items), takeAll(t, q))
}

func TestC24DeadlineOrderWithinAShard(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		type dated struct {
			group uint64
			delay time.Duration
		}
		fake := newFake()
		q := shardq.Must(shardq.Options[dated]{
			Shards: shards, Clock: fake,
			Hash: func(item dated) uint64 { return item.group },
		})
		random := rand.New(rand.NewPCG(1, 6))
		for range 3000 {
			item := dated{random.Uint64N(10), time.Duration(1+random.IntN(100_000)) * tick}
			q.AddAfter(item, item.delay)
		}
		for fake.Step(30 * time.Second); ; fake.Step(30 * time.Second) {
			requireSortedWithin(t, takeAll(t, q), func(d dated) uint64 { return d.group }, func(d dated) time.Duration { return d.delay })
			if q.Stats().Waiting == 0 {
				break
			}
		}
	})
}

// requireSortedWithin checks that the items of each group come in order.
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

// H22: deadlines that are set while the driver goes to sleep, wakes, or has just
// gone. In a bubble nobody is ever slow: time stands while anyone can run, so each
// item that is more than a tick late was forgotten until a later deadline.
func TestH22AddRacingTheDriver(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		type dated struct {
			producer, number int
			deadline         time.Time
		}
		const producers = 6
		n := scaled(5_000, 800)
		q := newQueue[dated](shards)
		var group sync.WaitGroup
		for producer := range producers {
			random := rand.New(rand.NewPCG(uint64(producer), 7))
			group.Go(func() {
				for number := range n {
					delay := time.Duration(1+random.IntN(4)) * tick
					q.AddAfter(dated{producer, number, time.Now().Add(delay)}, delay)
					// In whole ticks, to wake with the timer.
					time.Sleep(time.Duration(random.IntN(5)) * tick)
				}
			})
		}
		var early, late atomic.Int32
		for range producers * n {
			item, _ := q.Get()
			lateness := time.Since(item.deadline)
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

// H22 once more, with as many shards as there can be, so that the driver is long in
// looking at their deadlines, and one item at a time: if it is forgotten, nothing
// else will ever remind the driver of it.
func TestH22AddWhileTheDriverLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](shardq.MaxShards)
		random := rand.New(rand.NewPCG(1, 11))
		for item := range scaled(6_000, 1_500) {
			q.AddAfter(-1, tick)
			time.Sleep(tick) // wakes beside the timer
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

// A deadline before the one that the driver sleeps for, in the same shard or in
// another.
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
