package shardqtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/shardqtest"
	"github.com/shardq/shardq/worker"
)

var errOnPurpose = errors.New("on purpose")

func succeed(context.Context, string) error { return nil }

// forEachClock runs a test with a fake clock, and with the usual clock in a
// bubble, where fake is nil.
func forEachClock(t *testing.T, test func(t *testing.T, fake *clock.Fake, q *shardq.Queue[string])) {
	t.Run("fake", func(t *testing.T) {
		fake := newFake()
		test(t, fake, shardq.MustNew(shardq.Options[string]{Shards: 1, Clock: fake}))
	})
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, nil, shardq.MustNew(shardq.Options[string]{Shards: 1})) })
	})
}

// Each outcome that a handler can have is reported as it is.
func TestOutcomes(t *testing.T) {
	forEachClock(t, func(t *testing.T, fake *clock.Fake, q *shardq.Queue[string]) {
		var discarded []string
		script := shardqtest.NewScript[string](nil)
		driver := shardqtest.Drive(t, q, fake, worker.Options[string]{
			Handle: script.Handle, MaxAttempts: 3, Timeout: time.Hour, CancelIfAddedAgain: true, CancelIfCanceled: true,
			OnDiscard: func(_ context.Context, f worker.Failure[string]) { discarded = append(discarded, f.Item) },
		})
		script.For("fails").Fail(2)
		script.For("panics").Panic("oops").Goexit()
		script.For("again").Return(worker.RequeueAfter(time.Minute)).Return(worker.RequeueAfter(0))
		script.For("permanent").Return(worker.Permanent(errOnPurpose))
		script.For("exhausted").Fail(3)
		until := func(do func()) func(context.Context) error {
			return func(ctx context.Context) error {
				do()
				<-ctx.Done()
				return ctx.Err()
			}
		}
		script.For("ends").Do(until(func() { q.Add("ends") })).Do(until(func() { q.Cancel("ends") }))
		q.AddBatch([]string{"fails", "panics", "again", "permanent", "exhausted", "ends"}, shardq.AddOptions{})
		require.Equal(t, []string{
			"fails: attempt 1: failed: scripted failure 1: again in 5ms",
			"panics: attempt 1: failed: panic: oops: again in 5ms",
			"again: attempt 1: requeued: again in 1m0s",
			"permanent: attempt 1: discarded: on purpose",
			"exhausted: attempt 1: failed: scripted failure 1: again in 5ms",
			"ends: attempt 1: interrupted",
			"ends: attempt 1: interrupted",
			"fails: attempt 2: failed: scripted failure 2: again in 10ms",
			"panics: attempt 2: failed: worker: runtime.Goexit was called: again in 10ms",
			"exhausted: attempt 2: failed: scripted failure 2: again in 10ms",
			"fails: attempt 3: succeeded",
			"panics: attempt 3: succeeded",
			"exhausted: attempt 3: discarded: scripted failure 3",
			"again: attempt 1: requeued: again in 0s",
			"again: attempt 1: succeeded",
		}, texts(driver.RunUntilIdle()))
		require.Equal(t, []string{"permanent", "exhausted"}, discarded)
		script.RequirePlayed(t)
		require.Equal(t, 3, script.Attempts("fails"))
		require.EqualValues(t, 2, q.Stats().Discarded)
		shardqtest.RequireIdle(t, q)
	})
}

func TestSteps(t *testing.T) {
	forEachClock(t, func(t *testing.T, fake *clock.Fake, q *shardq.Queue[string]) {
		script := shardqtest.NewScript[string](nil)
		script.For("a").Fail(1)
		driver := shardqtest.Drive(t, q, fake, worker.Options[string]{Handle: script.Handle})
		_, ok := driver.Step()
		require.False(t, ok)
		_, ok = driver.AdvanceToNext()
		require.False(t, ok)

		q.AddWith("a", shardq.AddOptions{Priority: 2})
		q.Add("b")
		_, ok = driver.AdvanceToNext()
		require.False(t, ok, "an item is ready")
		a, ok := driver.Step()
		require.True(t, ok)
		require.Equal(t, "a", a.Item)
		require.Equal(t, 2, a.Priority)
		require.Equal(t, shardqtest.Failed, a.Outcome)
		shardqtest.RequireQueued(t, q, "b")
		shardqtest.RequireDelayed(t, q, "a", 5*time.Millisecond)
		require.Len(t, driver.RunReady(), 1)
		shardqtest.RequireDelayed(t, q, "a", 5*time.Millisecond)

		driver.Advance(4 * time.Millisecond)
		shardqtest.RequireDelayed(t, q, "a", time.Millisecond)
		passed, ok := driver.AdvanceToNext()
		require.True(t, ok)
		require.Equal(t, time.Millisecond, passed)
		require.Equal(t, 2, shardqtest.RequireQueued(t, q, "a").Priority)
		again, _ := driver.Step()
		require.Equal(t, 2, again.Number)
		require.Equal(t, 5*time.Millisecond, again.Time.Sub(a.Time))
	})
}

// An item that runs every hour never leaves the queue idle.
func TestRunFor(t *testing.T) {
	forEachClock(t, func(t *testing.T, fake *clock.Fake, q *shardq.Queue[string]) {
		driver := shardqtest.Drive(t, q, fake, worker.Options[string]{
			Handle: func(context.Context, string) error { return worker.RequeueAfter(time.Hour) },
		})
		q.Add("a")
		require.Len(t, driver.RunFor(24*time.Hour), 25)
		require.Empty(t, driver.RunFor(time.Hour-1))
		require.Len(t, driver.RunFor(1), 1)
	})
}

// A batch has what is ready, and each of its items has an outcome.
func TestBatches(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, Clock: fake})
	var sizes []int
	driver := shardqtest.Drive(t, q, fake, worker.Options[string]{
		BatchSize: 3,
		HandleBatch: func(_ context.Context, items []string) []error {
			sizes = append(sizes, len(items))
			errs := make([]error, len(items))
			for i, item := range items {
				switch item {
				case "1":
					errs[i] = worker.Permanent(errOnPurpose)
				case "2":
					errs[i] = worker.RequeueAfter(time.Second)
				case "3":
					panic("oops")
				}
			}
			return errs
		},
	})
	q.AddBatch([]string{"0", "1", "2", "3", "4"}, shardq.AddOptions{})
	one, _ := driver.Step()
	require.Equal(t, "0", one.Item)
	require.Equal(t, []string{
		"1: attempt 1: failed: panic: oops: again in 5ms",
		"2: attempt 1: failed: panic: oops: again in 5ms",
		"3: attempt 1: failed: panic: oops: again in 5ms",
		"4: attempt 1: succeeded",
	}, texts(driver.RunReady()))
	q.Cancel("3")
	driver.AdvanceToNext()
	require.Equal(t, []string{
		"1: attempt 2: discarded: on purpose",
		"2: attempt 2: requeued: again in 1s",
	}, texts(driver.RunReady()))
	require.Equal(t, []int{1, 3, 1, 2}, sizes)
}

func TestDriverOfACoalescer(t *testing.T) {
	fake := newFake()
	c := coalesce.MustNew(coalesce.Options[string, []int]{
		Merge: func(pending, next []int) []int { return append(pending, next...) },
		Queue: shardq.Options[string]{Clock: fake},
	})
	script := shardqtest.NewScript[string](nil)
	script.For("home").Fail(1)
	type entry = coalesce.Entry[string, []int]
	driver := shardqtest.DriveCoalescer(t, c, fake, worker.Options[entry]{
		Handle: func(ctx context.Context, e entry) error { return script.Handle(ctx, e.Key) },
	})
	require.NoError(t, c.Put("home", []int{1}))
	require.NoError(t, c.Put("home", []int{2}))
	first, _ := driver.Step()
	require.Equal(t, 5*time.Millisecond, first.After)
	require.NoError(t, c.Put("home", []int{3}))
	require.Equal(t, []string{"{home [1 2 3]}: attempt 2: succeeded"}, texts(driver.RunUntilIdle()))
}

// The item of a throttled group is left to the consumer that throttles it.
func TestThrottledGroup(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{
		Name: "tenants", Shards: 1, Clock: fake, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 1} }, Group: func(item string) string { return item[:1] },
	})
	q.AddBatch([]string{"a1", "a2", "b1"}, shardq.AddOptions{})
	item, _ := q.Get()
	require.Equal(t, "a1", item)
	driver := shardqtest.Drive(t, q, fake, worker.Options[string]{Handle: succeed})
	require.Equal(t, []string{"b1: attempt 1: succeeded"}, texts(driver.RunReady()))
	requireFailure(t, `shardqtest: the queue is not idle, and nothing in it can run
The queue "tenants" holds 2 items.
  group "a" is throttled by its limit
  ready: 1
    a2 (group "a")
  in processing: 1
    a1 (group "a")`, func(t stub) { shardqtest.Drive(t, q, fake, worker.Options[string]{Handle: succeed}).RunUntilIdle() })
	q.Done(item)
	require.Len(t, driver.RunUntilIdle(), 1)
}

func TestItemThatRunsForever(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Clock: fake})
	q.Add("a")
	message := failureOf(func(t stub) {
		shardqtest.Drive(t, q, fake, worker.Options[string]{
			Handle: func(context.Context, string) error { return errOnPurpose },
		}).RunUntilIdle()
	})
	require.Contains(t, message, "the queue is not idle after 10001 attempts, of which 10001 are of one item. "+
		"The last one was\n  a: attempt 10001: failed: on purpose")
}

func TestFaultsOfADriver(t *testing.T) {
	drive := func(q *shardq.Queue[string], fake *clock.Fake, o worker.Options[string]) string {
		return failureOf(func(t stub) { shardqtest.Drive(t, q, fake, o) })
	}
	withFake := func(fake *clock.Fake) *shardq.Queue[string] {
		return shardq.MustNew(shardq.Options[string]{Clock: fake})
	}
	fake, other := newFake(), newFake()
	other.Step(time.Second)
	require.Contains(t, drive(withFake(fake), fake, worker.Options[string]{}), "Handle and HandleBatch are both nil")
	require.Contains(t, drive(withFake(fake), fake, worker.Options[string]{Handle: succeed, Timeout: -1}), "Timeout is -1ns")
	require.Contains(t, drive(withFake(fake), fake, worker.Options[string]{
		Handle: succeed, Use: []worker.Middleware[string]{worker.TimeoutOf[string](nil)},
	}), "Use[0] is nil, or TimeoutOf(nil)")
	require.Contains(t, drive(withFake(fake), other, worker.Options[string]{Handle: succeed}), "want the same clock")
	require.Contains(t, drive(withFake(fake), nil, worker.Options[string]{Handle: succeed}), "want the queue's fake clock")
	require.Contains(t, drive(shardq.MustNew(shardq.Options[string]{}), nil, worker.Options[string]{Handle: succeed}), "want one of them")
}

// TestRatesAndPauses checks that the driver waits for tokens and for the ends
// of pauses, and that nothing blocks.
func TestRatesAndPauses(t *testing.T) {
	tenth := shardq.Rate{PerSecond: 10, Burst: 1}
	for name, o := range map[string]shardq.Options[string]{
		"queue": {Rate: tenth},
		"group": {Group: func(string) string { return "a" }, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: tenth} }},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake()
			o.Clock = fake
			queue := shardq.MustNew(o)
			d := shardqtest.Drive(t, queue, fake, worker.Options[string]{Handle: succeed})
			queue.AddBatch([]string{"1", "2", "3", "4", "5"}, shardq.AddOptions{})
			require.Len(t, d.RunReady(), 1)
			require.Len(t, d.RunFor(200*time.Millisecond), 2)
			begin := fake.Now()
			require.Len(t, d.RunUntilIdle(), 2)
			require.Equal(t, 200*time.Millisecond, fake.Now().Sub(begin))

			queue.Pause()
			queue.Add("6")
			_, ok := d.Step()
			require.False(t, ok)
			require.Contains(t, failureOf(func(s stub) {
				shardqtest.Drive(s, queue, fake, worker.Options[string]{Handle: succeed}).RunUntilIdle()
			}), "nothing in it can run")
			queue.Resume()
			require.Len(t, d.RunUntilIdle(), 1)
		})
	}
	t.Run("a pause with an end", func(t *testing.T) {
		fake := newFake()
		queue := shardq.MustNew(shardq.Options[string]{Clock: fake, Group: func(string) string { return "a" }})
		d := shardqtest.Drive(t, queue, fake, worker.Options[string]{Handle: succeed})
		begin := fake.Now()
		queue.PauseGroup("a", begin.Add(time.Minute))
		queue.Add("1")
		require.Len(t, d.RunUntilIdle(), 1)
		require.Equal(t, time.Minute, fake.Now().Sub(begin))
	})
}

// An item that another consumer takes between the check and the claim leaves
// nothing to wait for. A call that waited would end the bubble with a deadlock.
func TestAnotherConsumerIsFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Shards: 1})
		driver := shardqtest.Drive(t, q, nil, worker.Options[string]{
			Handle: succeed,
			Use: []worker.Middleware[string]{func(next worker.Handler[string]) worker.Handler[string] {
				if claim, ok := q.TryClaim(); ok { // a Driver makes a pool after the check
					require.NoError(t, claim.Done())
				}
				return next
			}},
		})
		q.Add("a")
		_, ok := driver.Step()
		require.False(t, ok)
		q.Add("a")
		require.Empty(t, driver.RunReady())
		q.Add("a")
		require.Empty(t, driver.RunUntilIdle())
	})
}

// After its line, the attempts of an item are those of the real handler.
func TestScriptAndThenTheHandler(t *testing.T) {
	ctx, handled := context.Background(), []string(nil)
	script := shardqtest.NewScript(func(_ context.Context, item string) error {
		handled = append(handled, item)
		return errOnPurpose
	})
	script.For("a").Fail(1).Do(func(got context.Context) error {
		require.Equal(t, ctx, got)
		return nil
	}).Return(nil)
	require.Same(t, script.For("a"), script.For("a"))
	require.EqualError(t, script.Handle(ctx, "a"), "scripted failure 1")
	require.Equal(t, errOnPurpose, script.Handle(ctx, "b"))
	require.NoError(t, script.Handle(ctx, "a"))
	requireFailure(t, "shardqtest: the script describes attempts that were not made:\n  a: 1 of 3",
		func(t stub) { script.RequirePlayed(t) })
	require.NoError(t, script.Handle(ctx, "a"))
	require.Equal(t, errOnPurpose, script.Handle(ctx, "a"))
	require.Equal(t, []string{"b", "a"}, handled)
	require.Equal(t, 4, script.Attempts("a"))
	require.Zero(t, script.Attempts("c"))
	script.RequirePlayed(t)
}
