package contract

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// handOuts has the moments at which items were handed out.
type handOuts struct {
	mu sync.Mutex
	at map[string][]time.Time
}

func (h *handOuts) note(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at == nil {
		h.at = map[string][]time.Time{}
	}
	h.at[name] = append(h.at[name], time.Now())
}

// ticks is the lateness that a rate makes up for.
const ticks = 2 * time.Millisecond

// requireRate requires that in each time t at most burst + rate × (t + ticks)
// items were handed out.
func (h *handOuts) requireRate(t *testing.T, name string, r shardq.Rate) {
	t.Helper()
	at := h.at[name]
	for i := range at {
		for j := i; j < len(at); j++ {
			most := float64(max(1, r.Burst)) + r.PerSecond*(at[j].Sub(at[i])+ticks).Seconds()
			require.LessOrEqual(t, float64(j-i+1), most+1e-6, "%s: items %d to %d within %v", name, i, j, at[j].Sub(at[i]))
		}
	}
}

// takers are all ways to take items. Each takes some, and blocks until there
// are.
func takers(q *shardq.Queue[string]) []func(ctx context.Context) (items []string, err error) {
	batch := func(ctx context.Context) ([]string, error) {
		items := make([]string, 3)
		n, err := getBatch(q, ctx, items)
		return items[:n], err
	}
	return []func(ctx context.Context) ([]string, error){
		func(context.Context) ([]string, error) {
			item, shutdown := q.Get()
			if shutdown {
				return nil, shardq.ErrShutDown
			}
			return []string{item}, nil
		},
		func(ctx context.Context) ([]string, error) {
			item, err := q.GetContext(ctx)
			return []string{item}, err
		},
		func(context.Context) ([]string, error) {
			item, _, shutdown := getWithPriority(q)
			if shutdown {
				return nil, shardq.ErrShutDown
			}
			return []string{item}, nil
		},
		func(ctx context.Context) ([]string, error) {
			claim, err := q.Claim(ctx)
			return []string{claim.Item}, err
		},
		batch,
		func(ctx context.Context) (items []string, err error) {
			claims := make([]worker.Claim[string], 3)
			n, err := q.ClaimBatch(ctx, claims)
			for _, c := range claims[:n] {
				items = append(items, c.Item)
			}
			return items, err
		},
	}
}

// consumeAll consumes with all takers side by side, until the shutdown.
func consumeAll(q *shardq.Queue[string], took func(item string)) *sync.WaitGroup {
	var all sync.WaitGroup
	for _, take := range takers(q) {
		all.Go(func() {
			for {
				items, err := take(context.Background())
				if err != nil {
					return
				}
				for _, item := range items {
					took(item)
					q.Done(item)
				}
			}
		})
	}
	return &all
}

// TestC67RateHolds: all ways to take items keep the rate of each group, and use
// it up. A group without a rate does not wait for the others.
func TestC67RateHolds(t *testing.T) {
	rates := map[string]shardq.Rate{
		"a": {PerSecond: 10}, "b": {PerSecond: 100, Burst: 20}, "c": {PerSecond: 3, Burst: 2}, "d": {PerSecond: 0.5, Burst: 7},
	}
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		start := time.Now()
		q := shardq.MustNew(shardq.Options[string]{
			Shards: shards, Group: tenant, GroupPolicy: func(group string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: rates[group]} },
		})
		var h handOuts
		all := consumeAll(q, func(item string) { h.note(tenant(item)) })
		for _, name := range []string{"a", "b", "c", "d", "free"} {
			q.AddBatch(ofTenant(name, 50), shardq.AddOptions{})
		}
		q.ShutDownWithDrain() // which waits for throttled groups
		all.Wait()
		for name, r := range rates {
			require.Len(t, h.at[name], 50)
			h.requireRate(t, name, r)
			ideal := time.Duration(float64(50-max(1, r.Burst)) / r.PerSecond * float64(time.Second))
			last := h.at[name][49].Sub(start)
			require.LessOrEqual(t, last, ideal+50*time.Millisecond, "%s did not use its rate", name)
		}
		require.Equal(t, start, h.at["free"][49])
	})
}

// TestC67RateIsReached: a rate near one item for each tick, or above, is used
// up, although its group is freed at the start of a tick.
func TestC67RateIsReached(t *testing.T) {
	const items = 500
	for _, perSecond := range []float64{60, 400, 500, 999, 1000, 3000, 5000, 20_000} {
		r := shardq.Rate{PerSecond: perSecond}
		for name, options := range map[string]shardq.Options[string]{
			"a group":   {Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: r} }},
			"the queue": {Rate: r},
		} {
			t.Run(fmt.Sprintf("%s, %v a second", name, perSecond), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					q := shardq.MustNew(options)
					var h handOuts
					all := consumeAll(q, func(string) { h.note("all") })
					q.AddBatch(ofTenant("a", items), shardq.AddOptions{})
					q.ShutDownWithDrain()
					all.Wait()
					require.Len(t, h.at["all"], items)
					h.requireRate(t, "all", r)
					ideal := time.Duration((items - 1) / perSecond * float64(time.Second))
					require.LessOrEqual(t, h.at["all"][items-1].Sub(start), ideal+ticks)
				})
			})
		}
	}
}

// TestC67RateIsReachedByALateConsumer: the consumer comes some time after the
// tick at which the driver has woken it. Only what is longer than two ticks is
// lost.
func TestC67RateIsReachedByALateConsumer(t *testing.T) {
	const perSecond = 1000
	r := shardq.Rate{PerSecond: perSecond}
	for name, options := range map[string]shardq.Options[string]{
		"a group":   {Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: r} }},
		"the queue": {Rate: r},
	} {
		for late, lost := range map[time.Duration]time.Duration{
			300 * time.Microsecond: 0, 900 * time.Microsecond: 0, 3 * time.Millisecond: time.Millisecond,
		} {
			t.Run(fmt.Sprintf("%s, %v late", name, late), func(t *testing.T) {
				fake := newFake()
				options.Clock, options.Shards = fake, 1
				q := shardq.MustNew(options)
				q.AddBatch(ofTenant("a", 2*perSecond), shardq.AddOptions{})
				taken, rounds := 0, 0
				for passed := time.Duration(0); passed < time.Second; passed += time.Millisecond + late {
					for _, ok := q.TryClaim(); ok; _, ok = q.TryClaim() {
						taken++
					}
					rounds++
					fake.Step(time.Millisecond) // the driver frees the group
					fake.Step(late)
				}
				want := perSecond - rounds*int(lost*perSecond/time.Second)
				require.InDelta(t, want, taken, 5)
			})
		}
	}
}

// A countedClock counts how often the queue uses it.
type countedClock struct {
	*clock.Fake
	timers, readings atomic.Int32
}

func (c *countedClock) Now() time.Time {
	c.readings.Add(1)
	return c.Fake.Now()
}

func (c *countedClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.timers.Add(1)
	return countedTimer{c.Fake.AfterFunc(d, f), c}
}

type countedTimer struct {
	clock.Timer
	of *countedClock
}

func (t countedTimer) Reset(d time.Duration) bool {
	t.of.timers.Add(1)
	return t.Timer.Reset(d)
}

// TestC67NothingPolls: fifty items of a throttled group cost the queue one
// setting of its timer for each, and no more takes than items, while time
// passes in small steps.
func TestC67NothingPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &countedClock{Fake: newFake()}
		q := shardq.MustNew(shardq.Options[string]{
			Clock: c, Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: shardq.Rate{PerSecond: 10}} },
		})
		handled := 0
		var worker sync.WaitGroup
		worker.Go(func() {
			for item := range q.Items(context.Background()) {
				_ = item
				handled++
			}
		})
		q.AddBatch(ofTenant("a", 50), shardq.AddOptions{})
		synctest.Wait()
		require.Equal(t, 1, handled)
		for range 49 {
			before, read := c.timers.Load(), c.readings.Load()
			for range 99 {
				c.Step(time.Millisecond)
			}
			synctest.Wait()
			require.Equal(t, before, c.timers.Load(), "the timer was set while the group was throttled")
			require.LessOrEqual(t, c.readings.Load()-read, int32(99), "the clock was read, except by the steps")
			require.Equal(t, 1, q.Stats().Parked)
			n := handled
			c.Step(time.Millisecond)
			synctest.Wait()
			require.Equal(t, n+1, handled)
			require.LessOrEqual(t, c.timers.Load()-before, int32(2))
		}
		q.ShutDown()
		worker.Wait()
	})
}

// TestC67ThrottledByRate: what the queue says of a group that waits.
func TestC67ThrottledByRate(t *testing.T) {
	line := fakeTimeline()
	q := shardq.MustNew(shardq.Options[string]{
		Shards: 1, Clock: line.clock, Group: tenant,
		GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: shardq.Rate{PerSecond: 2, Burst: 2}} },
	})
	q.AddBatch(ofTenant("a", 3), shardq.AddOptions{})
	takeItem(t, q, "a/0")
	takeItem(t, q, "a/1")
	require.Equal(t, 1, q.Len())
	row := onlyGroup(t, q)
	require.Equal(t, stats.ThrottledByRate, row.Reason)
	require.Equal(t, stats.Rate{PerSecond: 2, Burst: 2}, row.Rate)
	require.True(t, row.Throttled)
	st := q.Stats()
	require.Equal(t, []int{1, 1, 0}, []int{st.Throttled, st.ThrottledByRate, st.ThrottledByPause})
	_, ok := q.TryClaim()
	require.False(t, ok)
	line.pass(499 * time.Millisecond)
	_, ok = q.TryClaim()
	require.False(t, ok)
	line.pass(time.Millisecond)
	takeItem(t, q, "a/2")
	require.Zero(t, q.Stats().Throttled)
}

func onlyGroup(t *testing.T, q *shardq.Queue[string]) stats.Group {
	t.Helper()
	rows := slices.Collect(q.Groups())
	require.Len(t, rows, 1)
	return rows[0]
}

// TestC68WeightOfAGroupWithoutItems: a group that was paused before its first
// item has no weight until then, whether the user chooses weights or not.
func TestC68WeightOfAGroupWithoutItems(t *testing.T) {
	for weight, policy := range map[int]func(string) shardq.GroupPolicy{
		1: nil, 5: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Weight: 5} },
	} {
		q := shardq.MustNew(shardq.Options[string]{Group: tenant, GroupPolicy: policy})
		q.PauseGroup("a", time.Time{})
		require.Equal(t, stats.Group{Group: "a", Paused: true, Shard: onlyGroup(t, q).Shard},
			onlyGroup(t, q))
		q.Add("a/0")
		require.Equal(t, weight, onlyGroup(t, q).Weight)
		q.Cancel("a/0")
		require.Equal(t, weight, onlyGroup(t, q).Weight)
	}
}

// TestC67EmptiedGroupKeepsItsBucket: a group that loses its last item does not
// begin again with a full bucket, and costs nothing once its bucket is full.
func TestC67EmptiedGroupKeepsItsBucket(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{
		Shards: 1, Clock: fake, Group: tenant,
		GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: shardq.Rate{PerSecond: 1, Burst: 3}} },
	})
	handedOut := func() (n int) {
		for {
			q.Add(fmt.Sprint("a/", n))
			c, ok := q.TryClaim()
			if !ok {
				q.Cancel(fmt.Sprint("a/", n))
				return n
			}
			require.NoError(t, c.Done())
			n++
		}
	}
	require.Equal(t, 3, handedOut())
	require.Equal(t, 0, handedOut())
	require.Zero(t, q.Stats().Groups)
	fake.Step(time.Second)
	require.Equal(t, 1, handedOut())
	require.Equal(t, 1, fake.Timers())
	fake.Step(3 * time.Second)
	require.Zero(t, fake.Timers(), "nothing is remembered of a group with a full bucket")
	require.Equal(t, 3, handedOut())
}

// TestC67RateChanges: another result of GroupRate counts from the next item on,
// and at once after RefreshGroup.
func TestC67RateChanges(t *testing.T) {
	fake := newFake()
	rate := shardq.Rate{PerSecond: 1, Burst: 4}
	q := shardq.MustNew(shardq.Options[string]{
		Shards: 1, Clock: fake, Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: rate} },
	})
	count := func() (n int) {
		for {
			if _, ok := q.TryClaim(); !ok {
				return n
			}
			n++
		}
	}
	q.AddBatch(ofTenant("a", 100), shardq.AddOptions{})
	require.Equal(t, 4, count())
	rate = shardq.Rate{PerSecond: 10, Burst: 2}
	q.Add("a/99") // deduplicated, and calls GroupRate
	fake.Step(999 * time.Millisecond)
	require.Zero(t, count(), "the wait is that of the old rate")
	q.RefreshGroup("a")
	require.Zero(t, count(), "there is no whole token yet")
	fake.Step(time.Millisecond)
	require.Equal(t, 1, count())
	fake.Step(time.Second)
	require.Equal(t, 2, count())

	rate = shardq.Rate{PerSecond: 1.0 / 3600}
	q.RefreshGroup("a")
	fake.Step(time.Minute)
	require.Zero(t, count(), "the bucket was empty")
	rate = shardq.Rate{PerSecond: 1}
	q.RefreshGroup("a")
	fake.Step(time.Second)
	require.Equal(t, 1, count(), "the wait of an hour became one of a second")
	rate = shardq.Rate{}
	q.RefreshGroup("a")
	left := q.Len()
	require.Equal(t, left, count(), "there is no limit")
	q.RefreshGroup("unknown")
}

func TestC67Faults(t *testing.T) {
	for _, r := range []shardq.Rate{
		{PerSecond: math.NaN()}, {PerSecond: -1}, {PerSecond: math.Inf(1)}, {PerSecond: math.Inf(-1)},
		{PerSecond: 1, Burst: -1}, {Burst: 1},
	} {
		require.Error(t, r.Validate(), "%v", r)
		_, err := shardq.New(shardq.Options[string]{Rate: r})
		require.ErrorContains(t, err, "Options.Rate: ")
		faulty := true
		q := shardq.MustNew(shardq.Options[string]{Group: tenant, GroupPolicy: func(group string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Rate: func(string) shardq.Rate {
				if faulty {
					return r
				}
				return shardq.Rate{}
			}(group)}
		}})
		require.Panics(t, func() { q.Add("a/1") })
		require.Panics(t, func() { q.RefreshGroup("a") })
		require.Panics(t, func() { q.SetRate(r) })
		require.Zero(t, q.Stats().Held)
		faulty = false
		q.Add("a/1")
		takeItem(t, q, "a/1")
	}
	for _, r := range []shardq.Rate{{}, {PerSecond: 1}, {PerSecond: math.MaxFloat64, Burst: math.MaxInt}, {PerSecond: 5e-324}} {
		require.NoError(t, r.Validate())
		q := shardq.MustNew(shardq.Options[string]{Group: tenant, Rate: r, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: r} }})
		q.Add("a/1")
		takeItem(t, q, "a/1")
	}
	_, err := shardq.New(shardq.Options[string]{GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{} }})
	require.ErrorContains(t, err, "GroupPolicy")
	q := shardq.MustNew(shardq.Options[string]{})
	require.Panics(t, func() { q.PauseGroup("a", time.Time{}) })
	require.Panics(t, func() { q.ResumeGroup("a") })
	require.Panics(t, func() { q.RefreshGroup("a") })
}

// TestC67ClockPanics: a clock that panics in a Get loses no item, and the queue
// goes on afterwards.
func TestC67ClockPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &moodyClock{Clock: clock.Real()}
		q := shardq.MustNew(shardq.Options[string]{
			Clock: c, Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: shardq.Rate{PerSecond: 10}} },
		})
		q.AddBatch(ofTenant("a", 3), shardq.AddOptions{})
		c.panics.Store(true)
		require.Panics(t, func() { q.Get() })
		require.Panics(t, func() { q.PauseGroup("a", time.Time{}) })
		require.Equal(t, 3, q.Len())
		c.panics.Store(false)
		for range 3 {
			item, _ := q.Get()
			q.Done(item)
		}
		q.ShutDown()
	})
}

// A moodyClock panics while panics is set.
type moodyClock struct {
	clock.Clock
	panics atomic.Bool
}

func (c *moodyClock) Now() time.Time {
	if c.panics.Load() {
		panic("moody")
	}
	return c.Clock.Now()
}

// TestC68PauseOfAGroup: a paused group keeps its items, and others do not wait.
func TestC68PauseOfAGroup(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: line.clock, Group: tenant})
		q.PauseGroup("a", line.now().Add(10*time.Second)) // without items
		q.AddBatch(ofTenant("a", 2), shardq.AddOptions{})
		q.AddBatch(ofTenant("b", 2), shardq.AddOptions{})
		for range 2 {
			c, ok := q.TryClaim()
			require.True(t, ok)
			require.Equal(t, "b", tenant(c.Item))
			require.NoError(t, c.Done())
		}
		_, ok := q.TryClaim()
		require.False(t, ok)
		require.Equal(t, 2, q.Len())
		row := onlyGroup(t, q)
		require.True(t, row.Paused && row.Throttled)
		require.Equal(t, stats.ThrottledByPause, row.Reason)
		require.True(t, row.PausedUntil.Equal(line.now().Add(10*time.Second)), row.PausedUntil)
		require.Equal(t, 1, q.Stats().ThrottledByPause)
		line.pass(10*time.Second - time.Nanosecond)
		_, ok = q.TryClaim()
		require.False(t, ok)
		line.pass(time.Millisecond)
		takeItem(t, q, "a/0")

		q.PauseGroup("a", time.Time{})
		line.pass(1000 * time.Hour)
		_, ok = q.TryClaim()
		require.False(t, ok)
		require.True(t, onlyGroup(t, q).PausedUntil.IsZero())
		q.PauseGroup("a", line.now().Add(time.Second)) // replaces it
		line.pass(time.Second + time.Millisecond)      // the next tick
		takeItem(t, q, "a/1")
		q.Done("a/0")
		q.Done("a/1")

		q.PauseGroup("a", time.Time{})
		require.True(t, onlyGroup(t, q).Paused, "a paused group is listed without items")
		require.Zero(t, q.Stats().Groups)
		q.PauseGroup("a", line.now()) // ends it
		require.Empty(t, slices.Collect(q.Groups()))
		q.ResumeGroup("a")
		q.ResumeGroup("unknown")
		q.Add("a/0")
		takeItem(t, q, "a/0")
		q.ShutDown()
	})
}

// TestC68ParkedConsumers: consumers that are parked when a pause ends, by
// itself or by ResumeGroup, get the items, and no pause loses one.
func TestC68ParkedConsumers(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: tenant})
		var taken atomic.Int32
		all := consumeAll(q, func(string) { taken.Add(1) })
		for round := range int32(20) {
			q.PauseGroup("a", time.Now().Add(time.Minute))
			q.PauseGroup("b", time.Time{})
			q.AddBatch(ofTenant("a", 5), shardq.AddOptions{})
			q.AddBatch(ofTenant("b", 5), shardq.AddOptions{})
			synctest.Wait()
			require.Equal(t, 10*round, taken.Load())
			q.ResumeGroup("b")
			synctest.Wait()
			require.Equal(t, 10*round+5, taken.Load())
			time.Sleep(time.Minute + time.Millisecond)
			synctest.Wait()
			require.Equal(t, 10*round+10, taken.Load())
		}
		q.ShutDown()
		all.Wait()
	})
}

// TestC68Shutdown: a drain waits for a paused group, and so do consumers. A
// drain with a context ends with it, and lists the items. After ShutDown,
// consumers leave, and the items stay ready.
func TestC68Shutdown(t *testing.T) {
	pause := map[string]func(q *shardq.Queue[string]){
		"group":         func(q *shardq.Queue[string]) { q.PauseGroup("a", time.Time{}) },
		"group for now": func(q *shardq.Queue[string]) { q.PauseGroup("a", time.Now().Add(time.Hour)) },
		"queue":         func(q *shardq.Queue[string]) { q.Pause() },
	}
	for name, pause := range pause {
		t.Run(name, func(t *testing.T) {
			forEachShardCountInBubble(t, func(t *testing.T, shards int) {
				q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: tenant})
				pause(q)
				q.AddBatch(ofTenant("a", 3), shardq.AddOptions{})
				all := consumeAll(q, func(string) {})
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err := q.Drain(ctx, shardq.DrainOptions{})
				var early *shardq.DrainError[string]
				require.True(t, errors.As(err, &early), err)
				require.Equal(t, time.Minute, time.Since(began))
				require.Equal(t, 6, q.Stats().Parked)
				q.ShutDown()
				all.Wait()
				require.Equal(t, 3, q.Len())
				_, shutdown := q.Get()
				require.True(t, shutdown)
				q.ResumeGroup("a")
				q.Resume()
				require.Len(t, takeAll(t, q), 3)
			})
		})
	}
}

// TestC68ResumeDuringADrain: the drain goes on when the pause ends.
func TestC68ResumeDuringADrain(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: tenant})
		q.Pause()
		q.PauseGroup("a", time.Now().Add(time.Minute))
		q.AddBatch(ofTenant("a", 3), shardq.AddOptions{})
		q.AddBatch(ofTenant("b", 3), shardq.AddOptions{})
		all := consumeAll(q, func(string) {})
		began := time.Now()
		time.AfterFunc(time.Second, q.Resume)
		q.ShutDownWithDrain()
		all.Wait()
		require.Equal(t, time.Minute, time.Since(began).Truncate(time.Second))
	})
}

// TestC68DiscardOnShutDown: items of a paused group are dropped like others.
func TestC68DiscardOnShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := engine.Follow(shardq.MustNew(shardq.Options[string]{Group: tenant}), shard.Rules{DiscardOnShutDown: true})
		q.PauseGroup("a", time.Time{})
		q.AddBatch(ofTenant("a", 3), shardq.AddOptions{})
		all := consumeAll(q, func(string) {})
		q.ShutDown()
		all.Wait()
		require.EqualValues(t, 3, q.Stats().Dropped)
	})
}

// TestC69RateOfTheQueue: all ways to take items share the rate of the queue.
func TestC69RateOfTheQueue(t *testing.T) {
	for _, group := range []func(string) string{nil, tenant} {
		t.Run(fmt.Sprintf("groups=%v", group != nil), func(t *testing.T) {
			forEachShardCountInBubble(t, func(t *testing.T, shards int) {
				rate := shardq.Rate{PerSecond: 50, Burst: 7}
				q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: group, Rate: rate})
				require.Equal(t, rate, q.Stats().Rate)
				var h handOuts
				all := consumeAll(q, func(string) { h.note("all") })
				start := time.Now()
				for _, name := range []string{"a", "b", "c"} {
					q.AddBatch(ofTenant(name, 19), shardq.AddOptions{})
				}
				q.ShutDownWithDrain()
				all.Wait()
				h.requireRate(t, "all", rate)
				require.Len(t, h.at["all"], 57)
				require.Equal(t, time.Second, h.at["all"][56].Sub(start).Truncate(100*time.Millisecond))
				require.LessOrEqual(t, time.Since(start), 1100*time.Millisecond, "a consumer left late")
			})
		})
	}
}

// TestC69NothingPolls is TestC67NothingPolls for the rate of the queue.
func TestC69NothingPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &countedClock{Fake: newFake()}
		q := shardq.MustNew(shardq.Options[string]{Clock: c, Rate: shardq.Rate{PerSecond: 10}})
		var handled atomic.Int32
		all := consumeAll(q, func(string) { handled.Add(1) })
		q.AddBatch(ofTenant("a", 50), shardq.AddOptions{})
		synctest.Wait()
		before := c.timers.Load()
		for range 49 {
			timers, read := c.timers.Load(), c.readings.Load()
			c.Step(99 * time.Millisecond)
			synctest.Wait()
			require.Equal(t, timers, c.timers.Load())
			require.Equal(t, read, c.readings.Load())
			n := handled.Load()
			c.Step(time.Millisecond)
			synctest.Wait()
			require.Equal(t, n+1, handled.Load())
		}
		require.LessOrEqual(t, c.timers.Load()-before, int32(2*49))
		q.ShutDown()
		all.Wait()
	})
}

// TestC69SetRate: a change counts at once, for parked consumers as well.
func TestC69SetRate(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards})
		var taken atomic.Int32
		all := consumeAll(q, func(string) { taken.Add(1) })
		q.SetRate(shardq.Rate{PerSecond: 1.0 / 3600, Burst: 2})
		q.AddBatch(ofTenant("a", 30), shardq.AddOptions{})
		synctest.Wait()
		require.EqualValues(t, 2, taken.Load())
		q.SetRate(shardq.Rate{PerSecond: 1, Burst: 5})
		synctest.Wait()
		require.EqualValues(t, 2, taken.Load(), "a greater bucket is no fuller")
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 12, taken.Load())
		q.SetRate(shardq.Rate{})
		synctest.Wait()
		require.EqualValues(t, 30, taken.Load())
		require.Zero(t, q.Stats().Rate)
		q.ShutDown()
		all.Wait()
		q.SetRate(shardq.Rate{PerSecond: 1}) // nothing would open the gate
		require.Zero(t, q.Stats().Rate)
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
						Watermarks: shardq.Watermarks{High: 100, Low: 10, On: func(shardq.Watermark) { calls++; q.SetRate(rate) }},
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

// TestC67C69ChangesMakeNoTokens: a smaller bucket, and then a larger one, or a
// lower rate and a higher one, leave what there was.
func TestC67C69ChangesMakeNoTokens(t *testing.T) {
	high := shardq.Rate{PerSecond: 10, Burst: 100}
	for _, low := range []shardq.Rate{{PerSecond: 1, Burst: 1}, {PerSecond: 10, Burst: 1}, {PerSecond: 1, Burst: 100}, {PerSecond: 3e-9, Burst: 1000}} {
		for name, group := range map[string]bool{"queue": false, "group": true} {
			t.Run(fmt.Sprintf("%s, %v", name, low), func(t *testing.T) {
				rate, options := high, shardq.Options[string]{Shards: 1, Clock: newFake(), Group: tenant}
				if group {
					options.GroupPolicy = func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: rate} }
				} else {
					options.Rate = rate
				}
				q := shardq.MustNew(options)
				q.AddBatch(ofTenant("a", 1000), shardq.AddOptions{})
				change := func(to shardq.Rate) {
					if rate = to; group {
						q.RefreshGroup("a")
					} else {
						q.SetRate(to)
					}
				}
				taken := 0
				for range 10 {
					for _, ok := q.TryClaim(); ok; _, ok = q.TryClaim() {
						taken++
					}
					change(low)
					change(high)
				}
				require.Equal(t, 100, taken)
			})
		}
	}
}

// TestC67C69NoMoreAfterARest: what is made up for is the wait for the driver,
// and not a rest or a pause, after which there is one Burst.
func TestC67C69NoMoreAfterARest(t *testing.T) {
	rate := shardq.Rate{PerSecond: 20_000, Burst: 3}
	for name, options := range map[string]shardq.Options[string]{
		"queue": {Rate: rate}, "group": {GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: rate} }},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake()
			options.Shards, options.Clock, options.Group = 1, fake, tenant
			q := shardq.MustNew(options)
			count := func() (n int) {
				for _, ok := q.TryClaim(); ok; _, ok = q.TryClaim() {
					n++
				}
				return n
			}
			q.AddBatch(ofTenant("a", 1000), shardq.AddOptions{})
			require.Equal(t, 3, count())
			fake.Step(time.Millisecond)
			require.Equal(t, 20, count(), "what it waited for the tick is made up for")
			q.PauseGroup("a", fake.Now().Add(time.Hour))
			fake.Step(time.Hour)
			require.Equal(t, 3, count(), "after a pause")
			fake.Step(time.Hour)
			require.Equal(t, 3, count(), "after a rest")
		})
	}
}

// TestC69Pause: a paused queue takes in, and hands nothing out.
func TestC69Pause(t *testing.T) {
	for _, group := range []func(string) string{nil, tenant} {
		t.Run(fmt.Sprintf("groups=%v", group != nil), func(t *testing.T) {
			forEachShardCountInBubble(t, func(t *testing.T, shards int) {
				q := shardq.MustNew(shardq.Options[string]{Shards: shards, Group: group})
				var taken atomic.Int32
				all := consumeAll(q, func(string) { taken.Add(1) })
				synctest.Wait()
				for round := range int32(20) {
					q.Pause()
					q.Pause()
					q.AddBatch(ofTenant("a", 5), shardq.AddOptions{})
					q.AddAfter("b/1", time.Second)
					time.Sleep(time.Minute)
					synctest.Wait()
					require.Equal(t, 6*round, taken.Load())
					require.Equal(t, 6, q.Len())
					require.True(t, q.Stats().Paused)
					_, ok := q.TryClaim()
					require.False(t, ok)
					q.Resume()
					synctest.Wait()
					require.Equal(t, 6*round+6, taken.Load())
					require.False(t, q.Stats().Paused)
				}
				q.Resume()
				q.ShutDown()
				all.Wait()
			})
		})
	}
}

// TestC69CancelOfThePausedItem: a drain ends, and consumers leave, when the
// last item behind a pause is canceled.
func TestC69CancelOfThePausedItem(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Shards: shards})
		q.Pause()
		q.Add("a")
		all := consumeAll(q, func(string) {})
		time.AfterFunc(time.Second, func() { q.Cancel("a") })
		q.ShutDownWithDrain()
		all.Wait()
	})
}

// TestC69Coalescer: values wait as keys do.
func TestC69Coalescer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := shardq.Rate{PerSecond: 1}
		c, err := coalesce.New(coalesce.Options[string, int]{
			Queue: shardq.Options[string]{Group: tenant, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: rate} }},
			Merge: func(a, b int) int { return a + b },
		})
		require.NoError(t, err)
		began := time.Now()
		for _, key := range ofTenant("a", 5) {
			require.NoError(t, c.Put(key, 1))
			require.NoError(t, c.Put(key, 1))
		}
		c.Pause()
		c.PauseGroup("a", time.Time{})
		time.AfterFunc(time.Second, c.Resume)
		time.AfterFunc(2*time.Second, func() { c.ResumeGroup("a") })
		for range 5 {
			key, value, err := c.Take(context.Background())
			require.NoError(t, err)
			require.Equal(t, 2, value)
			c.Done(key)
		}
		require.Equal(t, 6*time.Second, time.Since(began))
		c.ShutDown()
	})
}

// TestC70LimitByGroup: a limit counts if it is positive.
func TestC70LimitByGroup(t *testing.T) {
	limits := map[string]int{"a": 1, "b": 3, "none": 0, "negative": -1}
	q := shardq.MustNew(shardq.Options[string]{
		Shards: 1, Group: tenant, GroupPolicy: func(group string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: limits[group]} },
	})
	inProcessing := func() map[string]int {
		for {
			if _, ok := q.TryClaim(); !ok {
				break
			}
		}
		n := map[string]int{}
		for row := range q.Groups() {
			n[row.Group] = row.Processing
			if row.Limit > 0 {
				require.Equal(t, row.Limit, row.Processing)
				require.Equal(t, stats.ThrottledByLimit, row.Reason)
			}
		}
		return n
	}
	for name := range limits {
		q.AddBatch(ofTenant(name, 10), shardq.AddOptions{})
	}
	require.Equal(t, map[string]int{"a": 1, "b": 3, "none": 10, "negative": 10}, inProcessing())
	limits["a"], limits["b"] = 4, 1
	q.Add("a/9") // deduplicated
	require.Equal(t, 2, q.Stats().Throttled)
	q.RefreshGroup("a")
	for {
		if _, ok := q.TryClaim(); !ok {
			break
		}
	}
	for row := range q.Groups() {
		if row.Group == "a" {
			require.Equal(t, 4, row.Processing)
		}
	}
	q.RefreshGroup("b")
	q.Done("b/0")
	q.Done("b/1")
	_, ok := q.TryClaim()
	require.False(t, ok, "one item of b is in processing")
	q.Done("b/2")
	c, ok := q.TryClaim()
	require.True(t, ok)
	require.Equal(t, "b/3", c.Item)
}
