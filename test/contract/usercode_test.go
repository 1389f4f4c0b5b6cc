package contract

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// H17: each piece of user code panics. The panic reaches the caller, and
// afterwards the queue works as before.

const fault = "the user's own fault"

// A panicSwitch makes user code panic while it is on.
type panicSwitch struct{ on bool }

func (f *panicSwitch) check() {
	if f.on {
		panic(fault)
	}
}

// requirePanics runs call with the switch on, and checks that the panic reaches
// the caller.
func (f *panicSwitch) requirePanics(t *testing.T, call func()) {
	t.Helper()
	f.on = true
	require.PanicsWithValue(t, fault, call)
	f.on = false
}

type panickyLimiter struct{ panicSwitch *panicSwitch }

func (l panickyLimiter) When(string) time.Duration { l.panicSwitch.check(); return time.Second }
func (l panickyLimiter) Forget(string)             { l.panicSwitch.check() }
func (l panickyLimiter) NumRequeues(string) int    { l.panicSwitch.check(); return 7 }

func TestC17H17PanickingLimiter(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		panicSwitch, fake := &panicSwitch{}, newFake()
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: fake, RateLimiter: panickyLimiter{panicSwitch}})
		panicSwitch.requirePanics(t, func() { q.AddRateLimited("a") })
		panicSwitch.requirePanics(t, func() { q.Forget("a") })
		panicSwitch.requirePanics(t, func() { q.NumRequeues("a") })
		requireCycle(t, q, "a")
		q.AddRateLimited("a")
		fake.Step(time.Second)
		takeItem(t, q, "a")
		q.Done("a")
		requireShutsDown(t, q)
	})
}

func TestC17H17PanickingHash(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		panicSwitch, fake := &panicSwitch{}, newFake()
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: fake, Hash: func(item string) uint64 {
			panicSwitch.check()
			return uint64(len(item))
		}})
		panicSwitch.requirePanics(t, func() { q.Add("a") })
		panicSwitch.requirePanics(t, func() { q.AddAfter("a", time.Second) })
		panicSwitch.requirePanics(t, func() { q.AddRateLimited("a") })
		requireCounts(t, q, 0, 0, 0)

		q.Add("a")
		takeItem(t, q, "a")
		panicSwitch.requirePanics(t, func() { q.Done("a") })
		requireCounts(t, q, 0, 0, 1) // the item is still in processing
		q.Done("a")
		requireCycle(t, q, "a")
		requireShutsDown(t, q)
	})
}

func TestC17H17PanickingMisuseHook(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		panicSwitch := &panicSwitch{}
		q := shardq.MustNew(shardq.Options[float64]{
			Shards: shards, OnMisuse: func(shardq.Misuse[float64]) { panicSwitch.check() },
		})
		for _, add := range waysToAdd(q) {
			panicSwitch.requirePanics(t, func() { add(math.NaN()) })
		}
		panicSwitch.requirePanics(t, func() { q.Done(1) })
		require.EqualValues(t, 1, q.Stats().Misused, "it is counted all the same")
		require.EqualValues(t, len(waysToAdd(q)), q.Stats().Rejected)
		requireCycle(t, q, 1)
		requireShutsDown(t, q)
	})
}

// A panickyClock panics in the named call.
type panickyClock struct {
	*clock.Fake
	faulty string
}

func (c *panickyClock) check(call string) {
	if c.faulty == call {
		panic(fault)
	}
}

func (c *panickyClock) Now() time.Time {
	c.check("Now")
	return c.Fake.Now()
}

func (c *panickyClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.check("AfterFunc")
	return panickyTimer{c, c.Fake.AfterFunc(d, f)}
}

type panickyTimer struct {
	clock *panickyClock
	clock.Timer
}

func (t panickyTimer) Reset(d time.Duration) bool {
	t.clock.check("Reset")
	return t.Timer.Reset(d)
}

func (t panickyTimer) Stop() bool {
	t.clock.check("Stop")
	return t.Timer.Stop()
}

// requirePanics runs call with one of the clock's calls panicking.
func (c *panickyClock) requirePanics(t *testing.T, faulty string, call func()) {
	t.Helper()
	c.faulty = faulty
	require.PanicsWithValue(t, fault, call)
	c.faulty = ""
}

func forEachPanickyQueue(t *testing.T, test func(t *testing.T, q *shardq.Queue[string], c *panickyClock)) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		c := &panickyClock{Fake: newFake()}
		test(t, shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: c}), c)
	})
}

// requireDelayedCycle checks that delays work, and that nothing else is
// delayed.
func requireDelayedCycle(t *testing.T, q *shardq.Queue[string], c *panickyClock) {
	t.Helper()
	q.AddAfter("delayed", time.Second)
	c.Step(time.Second + tick)
	takeItem(t, q, "delayed")
	q.Done("delayed")
	requireCounts(t, q, 0, 0, 0)
}

func TestC17H17ClockPanicsInNew(t *testing.T) {
	c := &panickyClock{Fake: newFake()}
	c.requirePanics(t, "Now", func() { shardq.MustNew(shardq.Options[string]{Clock: c}) })
}

func TestC17H17ClockPanicsBeforeAnAddAfter(t *testing.T) {
	forEachPanickyQueue(t, func(t *testing.T, q *shardq.Queue[string], c *panickyClock) {
		c.requirePanics(t, "Now", func() { q.AddAfter("a", time.Second) })
		requireCounts(t, q, 0, 0, 0)
		requireCycle(t, q, "a")
		requireDelayedCycle(t, q, c)
		requireShutsDown(t, q)
	})
}

// The item is filed before setting the timer fails. It stays delayed, and the
// next AddAfter sets the timer for both.
func TestC17H17ClockPanicsWhenATimerIsSet(t *testing.T) {
	forEachPanickyQueue(t, func(t *testing.T, q *shardq.Queue[string], c *panickyClock) {
		c.requirePanics(t, "AfterFunc", func() { q.AddAfter("first", time.Second) })
		requireCounts(t, q, 0, 1, 0)
		q.AddAfter("hour", time.Hour)
		c.requirePanics(t, "Reset", func() { q.AddAfter("half", time.Millisecond) })
		q.AddAfter("again", time.Minute)
		c.Step(time.Minute + tick)
		requireExactly(t, []string{"first", "half", "again"}, finishAll(t, q))
		c.Step(time.Hour)
		require.Equal(t, []string{"hour"}, finishAll(t, q))
		requireCycle(t, q, "a")
		requireDelayedCycle(t, q, c)
		requireShutsDown(t, q)
	})
}

// The clock panics in a call that the queue's own timer function makes. The
// panic returns to the clock.
func TestC17H17ClockPanicsInTheDriver(t *testing.T) {
	for _, faulty := range []string{"Now", "Reset"} {
		t.Run(faulty, func(t *testing.T) {
			forEachPanickyQueue(t, func(t *testing.T, q *shardq.Queue[string], c *panickyClock) {
				q.AddAfter("second", time.Second)
				q.AddAfter("minute", time.Minute)
				c.requirePanics(t, faulty, func() { c.Step(2 * time.Second) })
				ready := finishAll(t, q)

				q.AddAfter("again", time.Second)
				c.Step(time.Hour)
				ready = append(ready, finishAll(t, q)...)
				requireExactly(t, []string{"second", "minute", "again"}, ready)
				requireCycle(t, q, "a")
				requireDelayedCycle(t, q, c)
				requireShutsDown(t, q)
			})
		})
	}
}

func TestC17H17ClockPanicsInShutDown(t *testing.T) {
	shutdowns := map[string]func(*shardq.Queue[string]){
		"ShutDown":          (*shardq.Queue[string]).ShutDown,
		"ShutDownWithDrain": (*shardq.Queue[string]).ShutDownWithDrain,
	}
	for name, shutDown := range shutdowns {
		t.Run(name, func(t *testing.T) {
			forEachPanickyQueue(t, func(t *testing.T, q *shardq.Queue[string], c *panickyClock) {
				q.Add("ready")
				q.AddAfter("delayed", time.Second)
				c.requirePanics(t, "Stop", func() { shutDown(q) })
				require.True(t, q.ShuttingDown())
				requireCounts(t, q, 1, 0, 0)
				takeItem(t, q, "ready")
				q.Done("ready")
				requireShutsDown(t, q)
				c.Step(time.Hour) // the timer that was not stopped finds nothing
				requireCounts(t, q, 0, 0, 0)
			})
		})
	}
}

// requireShutsDown checks that no lock is held and that no call blocks forever.
func requireShutsDown[T comparable](t *testing.T, q *shardq.Queue[T]) {
	t.Helper()
	q.ShutDownWithDrain()
	q.ShutDown()
	requireGetSaysShutdown(t, q)
	requireCounts(t, q, 0, 0, 0)
}

// User code may call the queue that calls it. If a lock were held, it would
// deadlock.
func TestC17UserCodeMayUseTheQueue(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		var use func(item float64)
		c := &reentrantClock{Fake: newFake()}
		q := shardq.MustNew(shardq.Options[float64]{
			Shards: shards, Clock: c,
			Hash:        func(item float64) uint64 { use(item); return uint64(item) },
			RateLimiter: reentrantLimiter{func(item float64) { use(item) }},
			OnMisuse:    func(m shardq.Misuse[float64]) { use(m.Item) },
		})
		depth := 0
		use = func(float64) {
			if depth++; depth == 1 { // not forever
				useEverything(q)
			}
			depth--
		}
		c.use = func() { use(0) }

		q.Add(1)
		q.Add(math.NaN())
		q.AddAfter(2, time.Second)
		q.AddRateLimited(3)
		q.Forget(3)
		q.NumRequeues(3)
		q.Done(-1)
		c.Step(time.Hour)
		finishAll(t, q)
		q.AddAfter(4, time.Second)
		c.Step(time.Hour)

		use = func(float64) {} // the items that were added meanwhile can now be done
		finishAll(t, q)
		c.Step(time.Hour)
		finishAll(t, q)
		requireCounts(t, q, 0, 0, 0)
		requireShutsDown(t, q)
	})
}

// useEverything calls every method that does not end the queue.
func useEverything(q *shardq.Queue[float64]) {
	q.Add(10)
	q.AddAfter(11, time.Second)
	q.AddAfter(12, time.Nanosecond)
	q.AddRateLimited(13)
	q.Forget(13)
	q.NumRequeues(13)
	q.Done(-2)
	if q.Len() > 0 {
		item, _ := q.Get()
		q.Done(item)
	}
	q.Stats()
	q.ShuttingDown()
	_ = q.Name()
}

type reentrantLimiter struct{ use func(float64) }

func (l reentrantLimiter) When(item float64) time.Duration { l.use(item); return time.Second }
func (l reentrantLimiter) Forget(item float64)             { l.use(item) }
func (l reentrantLimiter) NumRequeues(item float64) int    { l.use(item); return 0 }

// A reentrantClock calls the queue in each of its calls.
type reentrantClock struct {
	*clock.Fake
	use func()
}

func (c *reentrantClock) call() {
	if c.use != nil {
		c.use()
	}
}

func (c *reentrantClock) Now() time.Time {
	c.call()
	return c.Fake.Now()
}

func (c *reentrantClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.call()
	return reentrantTimer{c, c.Fake.AfterFunc(d, f)}
}

type reentrantTimer struct {
	clock *reentrantClock
	clock.Timer
}

func (t reentrantTimer) Reset(d time.Duration) bool {
	t.clock.call()
	return t.Timer.Reset(d)
}

func (t reentrantTimer) Stop() bool {
	t.clock.call()
	return t.Timer.Stop()
}

// A shutdown from within user code: of the hook, the hash, the limiter.
func TestC17UserCodeMayShutDown(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		var q *shardq.Queue[float64]
		shutDown := func() { q.ShutDownWithDrain(); q.ShutDown() }
		ways := map[string]func(){
			"hook": func() { q.Add(math.NaN()) },
			"done": func() { q.Done(5) },
			"hash": func() { q.Add(1) },
			"when": func() { q.AddRateLimited(1) },
		}
		for name, way := range ways {
			options := shardq.Options[float64]{Shards: shards, OnMisuse: func(shardq.Misuse[float64]) { shutDown() }}
			switch name {
			case "hash":
				options.Hash = func(float64) uint64 { shutDown(); return 0 }
			case "when":
				options.RateLimiter = reentrantLimiter{func(float64) { shutDown() }}
			}
			q = shardq.MustNew(options)
			way()
			require.True(t, q.ShuttingDown(), name)
			requireCounts(t, q, 0, 0, 0)
		}
	})
}

// An opaque item has methods that panic, because the queue must not call them.
type opaque struct{ number int }

func (opaque) String() string               { panic("the queue called String") }
func (opaque) GoString() string             { panic("the queue called GoString") }
func (opaque) Error() string                { panic("the queue called Error") }
func (opaque) MarshalText() ([]byte, error) { panic("the queue called MarshalText") }

func TestC17ItemsMethodsAreNotCalled(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[any]{Shards: shards, Clock: fake, OnMisuse: func(shardq.Misuse[any]) {}})
		q.Add(opaque{1})
		q.AddAfter(opaque{1}, time.Second)
		q.AddRateLimited(opaque{1})
		q.Done(opaque{1})
		item, _ := q.Get()
		q.Done(item)
		q.Done(item)
		fake.Step(time.Hour)
		q.ShutDown()
		require.Equal(t, 1, q.Len())
	})
}
