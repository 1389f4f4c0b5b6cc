package contract

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/shard"
)

// A countingClock counts the calls of a queue.
type countingClock struct {
	clock.Clock
	reads, sets, wakes, stops atomic.Int32
}

func (c *countingClock) Now() time.Time {
	c.reads.Add(1)
	return c.Clock.Now()
}

func (c *countingClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.sets.Add(1)
	return countingTimer{c, c.Clock.AfterFunc(d, func() {
		c.wakes.Add(1)
		f()
	})}
}

type countingTimer struct {
	count *countingClock
	clock.Timer
}

func (t countingTimer) Reset(d time.Duration) bool {
	t.count.sets.Add(1)
	return t.Timer.Reset(d)
}

func (t countingTimer) Stop() bool {
	t.count.stops.Add(1)
	return t.Timer.Stop()
}

func TestC25NoTimerBeforeTheFirstDelay(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		count := &countingClock{Clock: newFake()}
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: count})
		count.reads.Store(0)
		for range 10 {
			requireCycle(t, q, "a")
			q.AddAfter("b", 0)
			takeItem(t, q, "b")
			q.Done("b")
		}
		require.Zero(t, count.sets.Load(), "a timer without a delay")
		require.Zero(t, count.reads.Load(), "the clock was read without need")

		q.AddAfter("a", time.Second)
		require.EqualValues(t, 1, count.sets.Load())
	})
}

// One item delayed for an hour costs one wake-up, however time passes.
func TestC25OneWakeUpForALoneItem(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, time.Minute, time.Second, 50 * time.Millisecond} {
		t.Run(fmt.Sprintf("step=%v", step), func(t *testing.T) {
			forEachClock(t, func(t *testing.T, shards int, line timeline) {
				count := &countingClock{Clock: line.clock}
				q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: count})
				line.pass(tick / 3)
				q.AddAfter("a", time.Hour)
				for passed := time.Duration(0); passed <= time.Hour; passed += step {
					line.pass(step)
				}
				takeItem(t, q, "a")
				require.EqualValues(t, 1, count.wakes.Load())
			})
		})
	}
}

func TestC25OneWakeUpPerDeadline(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		count := &countingClock{Clock: line.clock}
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: count})
		const deadlines = 20
		for seconds := range deadlines {
			q.AddAfter(seconds, time.Duration(seconds+1)*time.Second)
			q.AddAfter(100+seconds, time.Duration(seconds+1)*time.Second)
		}
		for range 10 * (deadlines + 1) {
			line.pass(time.Second / 10)
		}
		requireCounts(t, q, 2*deadlines, 0, 0)
		require.EqualValues(t, deadlines, count.wakes.Load())
	})
}

func TestC25IdleMeansIdle(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake})
		for range 3 {
			for item := range 200 {
				q.AddAfter(item, time.Duration(item)*time.Millisecond)
			}
			require.Equal(t, 1, fake.Timers())
			fake.Step(time.Second)
			require.Zero(t, fake.Timers(), "nothing is delayed")
			finishAll(t, q)
		}
	})
}

// Canceled delays cause at most one useless wake-up.
func TestC25CancelledDelaysAreNoReasonToWake(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		count := &countingClock{Clock: newFake()}
		q := engine.Follow(shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: count}), shard.Rules{CancelDelayOnAdd: true})
		for item := range 100 {
			q.AddAfter(item, time.Duration(1+item)*time.Second)
			q.Add(item)
		}
		for range 200 {
			count.Clock.(*clock.Fake).Step(time.Second)
		}
		require.LessOrEqual(t, count.wakes.Load(), int32(shards)+1)
		require.Zero(t, count.Clock.(*clock.Fake).Timers())
		requireCounts(t, q, 100, 0, 0)
	})
}

// H15: ten minutes pass at once with a million delays due, all in one shard.
// Other calls succeed while the driver catches up, because it never holds a
// lock for long.
func TestC26H15StallWithManyTimersDue(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range 10 { // the scheduler may give this goroutine no processor during the catch-up
			if cyclesDuringCatchUp(t, shards, max(100_000, burstSize(shards))) > 0 {
				return
			}
		}
		require.Fail(t, "no other call succeeded during the catch-up")
	})
}

// cyclesDuringCatchUp counts the items that were added, handed out and Done
// while the driver was catching up.
func cyclesDuringCatchUp(t *testing.T, shards, timers int) (cycles int) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[int]{
		Shards: shards, Clock: fake, Hash: func(int) uint64 { return 0 },
	})
	random := rand.New(rand.NewPCG(uint64(shards), 8))
	for item := range timers {
		q.AddAfter(item, 1+time.Duration(random.Int64N(int64(10*time.Minute))))
	}
	caughtUp := returned(func() { fake.Step(10*time.Minute + tick) })
	for !caughtUp() {
		begun := q.Stats().Expired > 0
		q.Add(-1)
		item, _ := q.Get()
		q.Done(item)
		if begun && q.Stats().Delayed > 0 {
			cycles++
		}
		runtime.Gosched()
	}
	finishOneByOne(t, q, q.Len())
	requireCounts(t, q, 0, 0, 0)
	require.EqualValues(t, timers, q.Stats().Expired)
	return cycles
}

// At a whole number of ticks since its creation, a queue on a fake clock is
// exact: after Step(d), items that were added with d are ready.
func TestC27StepIsEnough(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		for _, tick := range []time.Duration{0, 1, 10 * time.Millisecond, 7 * time.Millisecond} {
			q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: line.clock, Tick: tick})
			unit := tick
			if tick == 0 {
				unit = shardq.DefaultTick
			}
			for _, delay := range []time.Duration{unit, 2 * unit, 63 * unit, 64 * unit, 65 * unit, 4096 * unit, 1e6 * unit} {
				q.AddAfter("a", delay)
				line.pass(delay - 1)
				require.Zero(t, q.Len(), "%v", delay)
				line.pass(1)
				require.Equal(t, 1, q.Len(), "%v", delay)
				takeItem(t, q, "a")
				q.Done("a")
			}
			q.ShutDown()
		}
	})
}

// A doubleClock is a user's clock. It runs at twice the speed of another.
type doubleClock struct {
	start time.Time
	clock.Clock
}

func (c doubleClock) Now() time.Time {
	now := c.Clock.Now()
	return now.Add(now.Sub(c.start))
}

func (c doubleClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return doubleTimer{c.Clock.AfterFunc((d+1)/2, f)}
}

type doubleTimer struct{ clock.Timer }

func (t doubleTimer) Reset(d time.Duration) bool { return t.Timer.Reset((d + 1) / 2) }

func TestC27OwnClock(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: doubleClock{line.now(), line.clock}})
		for _, delay := range []time.Duration{10 * time.Millisecond, time.Second, time.Hour} {
			q.AddAfter("a", delay)
			line.pass(delay/2 - 1)
			require.Zero(t, q.Len())
			line.pass(1 + tick)
			takeItem(t, q, "a")
			q.Done("a")
		}
	})
}

// A hookedClock calls a hook before or after each setting of a timer.
type hookedClock struct {
	clock.Clock
	before, after func()
}

func (c *hookedClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.before()
	defer c.after()
	return hookedTimer{c, c.Clock.AfterFunc(d, f)}
}

type hookedTimer struct {
	clock *hookedClock
	clock.Timer
}

func (t hookedTimer) Reset(d time.Duration) bool {
	t.clock.before()
	defer t.clock.after()
	return t.Timer.Reset(d)
}

// The Step happens in the middle of an AddAfter, which has filed its item and
// is about to set the timer. The item is ready nevertheless, and there is no
// other Step.
func TestC27StepBesideAddAfterIsEnough(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for name, place := range map[string]func(*hookedClock, func()){
			"before the timer is set": func(c *hookedClock, step func()) { c.before = step },
			"after the timer is set":  func(c *hookedClock, step func()) { c.after = step },
		} {
			t.Run(name, func(t *testing.T) {
				fake := newFake()
				step := sync.OnceFunc(func() { fake.Step(time.Hour) })
				slow := &hookedClock{fake, func() {}, func() {}}
				place(slow, step)
				q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: slow})
				q.AddAfter("a", time.Second)
				requireCounts(t, q, 1, 0, 0)
			})
		}
	})
}

// H22, step by step: the driver has just read all deadlines, and sets its timer
// for one of them. Meanwhile an item is added with an earlier one.
func TestH22EarlierDeadlineWhileTheTimerIsSet(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for name, place := range map[string]func(*hookedClock, func()){
			"before the timer is set": func(c *hookedClock, add func()) { c.before = add },
			"after the timer is set":  func(c *hookedClock, add func()) { c.after = add },
		} {
			t.Run(name, func(t *testing.T) {
				fake := newFake()
				slow := &hookedClock{fake, func() {}, func() {}}
				q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: slow})
				q.AddAfter(0, 1000*time.Hour)      // so that the timer is always set
				for hour := 1; hour <= 3; hour++ { // first in AddAfter, then in the driver
					place(slow, sync.OnceFunc(func() { q.AddAfter(-hour, time.Second) }))
					q.AddAfter(hour, time.Hour)
					fake.Step(time.Second)
					require.Equal(t, []int{-hour}, finishAll(t, q))
					place(slow, sync.OnceFunc(func() { q.AddAfter(-hour, time.Second) }))
					fake.Step(time.Hour - time.Second)
					fake.Step(time.Second)
					requireExactly(t, []int{hour, -hour}, finishAll(t, q))
				}
			})
		}
	})
}

// A promptClock calls the function of a timer that is due already at once, in
// the goroutine that sets it. Each reading of it is later than the one before.
type promptClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *promptClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(10 * time.Millisecond)
	return c.now
}

func (c *promptClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	timer := promptTimer(f)
	timer.Reset(d)
	return timer
}

type promptTimer func()

func (t promptTimer) Stop() bool { return false }

func (t promptTimer) Reset(d time.Duration) bool {
	if d <= 0 {
		t()
	}
	return false
}

func TestC27ClockThatCallsAtOnce(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: &promptClock{now: newFake().Now()}})
		q.AddAfter("a", 5*time.Millisecond)
		requireCounts(t, q, 1, 0, 0)
		takeItem(t, q, "a")
		q.Done("a")
	})
}

// H14: the clock is set forward and back by an hour, at any time. An item is
// never ready before its deadline, and always at the first tick after it.
func TestC19H14ClockSteps(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for seed := range scaled(100, 20) {
			testClockSteps(t, shards, uint64(seed))
		}
	})
}

// testClockSteps checks a queue against the deadlines of its items.
func testClockSteps(t *testing.T, shards int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 9))
	fake := newFake()
	q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake})
	deadlines := map[int]time.Time{}
	steps := []time.Duration{-time.Hour, time.Hour, -time.Minute, time.Minute, time.Second, 10 * time.Millisecond, tick / 2}
	for range 400 {
		item := random.IntN(30)
		delay := 1 + time.Duration(random.Int64N(int64(steps[1+random.IntN(2)*2])))
		deadline := fake.Now().Add(delay)
		if filed, ok := deadlines[item]; !ok || deadline.Before(filed) {
			deadlines[item] = deadline
		}
		q.AddAfter(item, delay)
		requireDeadlinesKept(t, q, fake.Now(), deadlines)
		if random.IntN(2) == 0 {
			fake.Step(steps[random.IntN(len(steps))])
			requireDeadlinesKept(t, q, fake.Now(), deadlines)
		}
	}
}

// requireDeadlinesKept takes the ready items, and removes their deadlines.
func requireDeadlinesKept(t *testing.T, q *shardq.Queue[int], now time.Time, deadlines map[int]time.Time) {
	t.Helper()
	for _, item := range finishAll(t, q) {
		if early := deadlines[item].Sub(now); early > 0 {
			t.Fatalf("item %d is early by %v", item, early)
		}
		delete(deadlines, item)
	}
	for item, deadline := range deadlines {
		if late := now.Sub(deadline); late >= tick {
			t.Fatalf("item %d is late by %v", item, late)
		}
	}
	require.Len(t, deadlines, q.Stats().Delayed)
}

// When the clock is set back by an hour, it reaches the old deadlines an hour
// later than other clocks. When it is set forward, it reaches them at once.
func TestC19H14ClockSetBackAndForward(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: fake})
		q.AddAfter("old", time.Minute)
		fake.Step(-time.Hour)
		q.AddAfter("new", time.Minute)
		fake.Step(time.Minute + tick)
		require.Equal(t, []string{"new"}, finishAll(t, q))
		fake.Step(time.Hour - 3*tick)
		requireCounts(t, q, 0, 1, 0)
		fake.Step(3 * tick)
		require.Equal(t, []string{"old"}, finishAll(t, q))

		q.AddAfter("old", 30*time.Minute)
		fake.Step(time.Hour)
		require.Equal(t, []string{"old"}, finishAll(t, q))
	})
}

// An offsetClock can be set while its timers follow another clock, as the wall
// clock of a machine can.
type offsetClock struct {
	clock.Clock
	offset atomic.Int64
}

func (c *offsetClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.offset.Load())) }

func TestC19H14ClockSetBackUnderItsTimers(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		wall := &offsetClock{Clock: line.clock}
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: wall})
		q.AddAfter("a", time.Minute)
		wall.offset.Store(int64(-time.Hour))
		line.pass(time.Minute + tick) // the timer fires an hour too soon
		requireCounts(t, q, 0, 1, 0)
		line.pass(time.Hour - 3*tick)
		requireCounts(t, q, 0, 1, 0)
		line.pass(3 * tick)
		requireCounts(t, q, 1, 0, 0)
	})
}

// Workers delay items, on a fake clock that another goroutine steps at the same
// time.
func TestC27StepsBesideEverythingElse(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		const items = 50
		rounds := scaled(200, 40)
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake})
		var runs atomic.Int64
		var workers sync.WaitGroup
		for worker := range 4 {
			random := rand.New(rand.NewPCG(uint64(worker), 10))
			workers.Go(func() {
				for {
					item, shutdown := q.Get()
					if shutdown {
						return
					}
					if runs.Add(1) <= int64(items*(rounds-1)) {
						q.AddAfter(item, time.Duration(1+random.IntN(1000))*time.Microsecond)
					}
					q.Done(item)
				}
			})
		}
		addAll(q, numbers(items))
		for step := 0; ; step++ {
			if step%3 == 0 {
				synctest.Wait()
				if q.Stats().Delayed == 0 {
					break
				}
			}
			fake.Step(time.Millisecond + tick)
			runtime.Gosched()
		}
		require.EqualValues(t, items*rounds, runs.Load())
		q.ShutDown()
		workers.Wait()
	})
}
