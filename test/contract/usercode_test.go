package contract

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// A hook that panics leaves no consumer parked: the queue calls it last.
func TestC41C17PanickingHookLeavesNobodyParked(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		panics := true
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Capacity: 2, HighWatermark: 1, OnWatermark: func(shardq.Watermark) {
			if panics {
				panic("hook")
			}
		}})
		for name, add := range map[string]func(item int){
			"Add":      q.Add,
			"AddBatch": func(item int) { q.AddBatch([]int{item}) },
			"TryAdd":   func(item int) { _ = q.TryAdd(item) },
			"AddWith":  func(item int) { q.AddWith(item, shardq.AddOptions{Policy: shardq.KeepNew}) },
		} {
			sleeper := returned(func() { item, _ := q.Get(); require.Equal(t, 1, item) })
			requireStillFalse(t, sleeper, "nothing is ready")
			require.PanicsWithValue(t, "hook", func() { add(1) }, name)
			requireBecomesTrue(t, sleeper)
			require.PanicsWithValue(t, "hook", func() { q.Done(1) }, name)
		}

		panics = false
		q.Add(1)
		takeItem(t, q, 1)
		q.Add(2)
		guest := returned(func() { require.NoError(t, q.AddContext(t.Context(), 3)) })
		requireStillFalse(t, guest, "there is no capacity")
		q.Cancel(2)
		requireBecomesTrue(t, guest)
		q.Cancel(3)
		panics = true
		drained := returned(q.ShutDownWithDrain)
		requireStillFalse(t, drained, "one is in processing")
		require.PanicsWithValue(t, "hook", func() { q.Done(1) })
		requireBecomesTrue(t, drained)
	})
}

// A GroupWeight that is slow, or waits for capacity itself, blocks neither
// other waiters nor a TryAdd.
func TestC40SlowGroupWeightBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		slow := false
		var q *shardq.Queue[string]
		q = shardq.MustNew(shardq.Options[string]{Shards: 1, Capacity: 3, Group: tenant, GroupWeight: func(group string) int {
			if slow && group == "slow" {
				require.NoError(t, q.AddContext(t.Context(), "c/within"))
				<-gate
			}
			return 1
		}})
		for _, item := range []string{"a/1", "a/2", "a/3"} {
			q.Add(item)
		}
		entered := make([]bool, 2)
		for i, item := range []string{"slow/1", "b/1"} {
			go func() {
				require.NoError(t, q.AddContext(t.Context(), item))
				entered[i] = true
			}()
			synctest.Wait()
		}
		slow = true
		q.DoneBatch(takeAll(t, q))
		synctest.Wait()
		require.Equal(t, []bool{false, true}, entered)
		require.Equal(t, 3, q.Len(), "slow/1 is in, too, and so is c/within")
		takeItem(t, q, "slow/1")
		q.Done("slow/1")
		require.NoError(t, q.TryAdd("b/2"))
		close(gate)
		synctest.Wait()
		require.True(t, entered[0])
	})
}

// faultyOptions returns options of a queue whose clock and hook call the
// injector.
func faultyOptions(shards int, injector *faultInjector) shardq.Options[string] {
	return shardq.Options[string]{
		Shards: shards, Clock: injectedClock{newFake(), injector},
		HighWatermark: 2, LowWatermark: 1, OnWatermark: func(shardq.Watermark) { injector.step("OnWatermark") },
	}
}

// forEachPanicInADrain calls drain with an injector, once for each call of user
// code, which panics. Drain returns what it dropped.
func forEachPanicInADrain(t *testing.T, drain func(t *testing.T, injector *faultInjector, shards int, o shardq.DrainOptions) []string) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for _, retries := range []shardq.RetryPolicy{shardq.RefuseRetries, shardq.AcceptRetries} {
			for _, function := range []string{"Now", "AfterFunc", "Reset", "Stop", "OnWatermark"} {
				for k, injector := 1, (*faultInjector)(nil); injector == nil || injector.calls >= injector.at; k++ {
					injector = &faultInjector{function: function, at: k}
					dropped := drain(t, injector, shards, shardq.DrainOptions{Retries: retries})
					slices.Sort(dropped)
					require.Equal(t, []string{"a", "b", "c"}, dropped, "call %d of %s", k, function)
				}
			}
		}
	})
}

func TestC42PanicInADrainLosesNothing(t *testing.T) {
	forEachPanicInADrain(t, func(t *testing.T, injector *faultInjector, shards int, o shardq.DrainOptions) (dropped []string) {
		var q *shardq.Queue[string]
		injector.disabled(func() {
			q = shardq.MustNew(faultyOptions(shards, injector))
			for _, item := range []string{"a", "b", "c"} {
				q.AddAfter(item, time.Hour)
			}
		})
		injector.retry(func() {
			items, err := q.Drain(t.Context(), o)
			require.NoError(t, err)
			dropped = append(dropped, items...)
		})
		return dropped
	})
}

// TestC69SetRateInAHook: a shutdown may call the hook that sets the rate, which
// must not wait for the shutdown.
func TestC69SetRateInAHook(t *testing.T) {
	for name, end := range map[string]func(q *shardq.Queue[string]){
		"ShutDown":          (*shardq.Queue[string]).ShutDown,
		"ShutDownWithDrain": (*shardq.Queue[string]).ShutDownWithDrain,
		"Drain": func(q *shardq.Queue[string]) {
			_, err := q.Drain(context.Background(), shardq.DrainOptions{})
			require.NoError(t, err)
		},
	} {
		for _, rate := range []shardq.Rate{{}, {PerSecond: 1}} {
			t.Run(fmt.Sprintf("%s, %v", name, rate), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var q *shardq.Queue[string]
					calls := 0
					q = shardq.MustNew(shardq.Options[string]{
						HighWatermark: 100, LowWatermark: 10,
						OnWatermark: func(shardq.Watermark) { calls++; q.SetRate(rate) },
					})
					for _, item := range ofTenant("a", 200) {
						q.AddAfter(item, time.Hour)
					}
					require.Equal(t, 1, calls)
					end(q)
					require.Equal(t, 2, calls)
				})
			})
		}
	}
}

// A hook for stuck items that does not return blocks only its own goroutine: no
// Get calls it.
func TestC44C17HookThatBlocksIsAlone(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		release := make(chan struct{})
		q := shardq.MustNew(shardq.Options[int]{
			Shards: shards, StuckAfter: time.Second,
			OnStuck: func(stats.Item[int]) { <-release },
		})
		q.AddBatch(numbers(8))
		stuck := takeAll(t, q)
		served := 0
		workers := returned(func() {
			for range q.Items(context.Background()) {
				served++
			}
		})
		for round := range 20 {
			time.Sleep(500 * time.Millisecond)
			q.Add(100 + round)
			synctest.Wait()
			require.Equal(t, round+1, served)
		}
		close(release)
		q.DoneBatch(stuck)
		q.ShutDown()
		requireBecomesTrue(t, workers)
	})
}

// newAged returns a queue that keeps ages.
func newAged[T comparable](shards int, line timeline) *shardq.Queue[T] {
	return shardq.MustNew(shardq.Options[T]{Shards: shards, Clock: line.clock, Ages: true})
}

// The loop may call the queue, because no lock is held.
func TestC43TheLoopMayUseTheQueue(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newAged[int](shards, bubbleTimeline())
		q.AddBatch(numbers(100))
		seen := 0
		for row := range q.All(stats.Ready) {
			q.Cancel(row.Item)
			q.Add(row.Item + 1000)
			seen++
		}
		require.GreaterOrEqual(t, seen, 100)
		q.ShutDown()
	})
}

// The hook may call the queue, and its panic affects only its caller.
func TestC44HookMayUseTheQueue(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		line := fakeTimeline()
		var q *shardq.Queue[string]
		calls := 0
		q = shardq.MustNew(shardq.Options[string]{
			Shards: shards, Clock: line.clock, StuckAfter: time.Second,
			OnStuck: func(i stats.Item[string]) {
				calls++
				if calls == 1 {
					panic("hook")
				}
				q.AddAfter("later", time.Second)
				q.Snapshot(3)
				q.Done(i.Item)
			},
		})
		q.Add("a")
		q.Add("b")
		takeAll(t, q)
		require.PanicsWithValue(t, "hook", func() { line.pass(time.Minute) })
		line.pass(time.Minute)
		q.AddAfter("c", time.Second)
		line.pass(time.Minute)
		line.pass(time.Minute) // so that "later" is due
		require.Equal(t, 2, calls, "the next call of the timer reports the other")
		require.Equal(t, 1, q.Stats().Processing)
		require.ElementsMatch(t, []string{"later", "c"}, finishAll(t, q))
	})
}

// ShutDown does not wait for a running call of the hook, which may be its own
// caller. That call is the last: the other items that were found are not
// reported.
func TestC44ShutDownBesideACall(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		calls, release := 0, make(chan struct{})
		q := shardq.MustNew(shardq.Options[int]{
			Shards: shards, StuckAfter: time.Second,
			OnStuck: func(stats.Item[int]) { calls++; <-release },
		})
		q.AddBatch(numbers(200))
		items := takeAll(t, q)
		bubbleTimeline().pass(2 * time.Second)
		require.Equal(t, 1, calls)

		requireBecomesTrue(t, returned(q.ShutDown))
		close(release)
		synctest.Wait()
		require.Equal(t, 1, calls)
		q.DoneBatch(items)
		requireCounts(t, q, 0, 0, 0)
	})
}

// However a turn ends, its item is Done.
func TestC36ItemsAreDoneHoweverTheTurnEnds(t *testing.T) {
	ends := map[string]func(){
		"panic":  func() { panic("on purpose") },
		"Goexit": runtime.Goexit,
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue[int](2)
				q.Add(1)
				go func() {
					defer func() { _ = recover() }()
					for range q.Items(t.Context()) {
						end()
					}
				}()
				synctest.Wait()
				requireCounts(t, q, 0, 0, 0)
			})
		})
	}
	t.Run("break", func(t *testing.T) {
		q := newQueue[int](2)
		q.Add(1)
		q.Add(2)
		for range q.Items(t.Context()) {
			break
		}
		requireCounts(t, q, 1, 0, 0)
	})
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

func (l reentrantLimiter) Forget(item float64) { l.use(item) }

func (l reentrantLimiter) NumRequeues(item float64) int { l.use(item); return 0 }

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
