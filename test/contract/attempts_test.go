package contract

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// attemptsOf returns the number of attempts by result, and how long they took
// together.
func attemptsOf(t *testing.T, q interface{ Stats() shardq.Stats }) (counts [stats.Results]uint64, together [stats.Results]time.Duration) {
	t.Helper()
	m := q.Stats().Metrics
	require.NotNil(t, m)
	for result, h := range m.Attempts.All() {
		counts[result], together[result] = h.Count, h.Sum
	}
	return counts, together
}

// TestC74TimeoutOfAMiddleware checks that an attempt whose TimeoutOf is over
// counts as one that timed out.
func TestC74TimeoutOfAMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Metrics: true})
		s := startPool(t, q, worker.Options[string]{
			MaxAttempts: 2,
			Use:         []worker.Middleware[string]{worker.TimeoutOf(func(string) time.Duration { return time.Second })},
			Handle: func(ctx context.Context, _ string) error {
				<-ctx.Done()
				return fmt.Errorf("late: %w", ctx.Err())
			},
		})
		q.Add("a")
		time.Sleep(time.Hour)
		s.stopPool(t)
		counts, _ := attemptsOf(t, q)
		require.EqualValues(t, 1, counts[stats.TimedOut])
		require.EqualValues(t, 1, counts[stats.Discarded])
	})
}

// TestC74DeadlineOfTheCaller checks that an attempt that the context of Run has
// ended counts as a timeout of neither TimeoutOf nor Timeout.
func TestC74DeadlineOfTheCaller(t *testing.T) {
	limit := func(d time.Duration) worker.Middleware[string] {
		return worker.TimeoutOf(func(string) time.Duration { return d })
	}
	for _, test := range []struct {
		name     string
		timeout  time.Duration
		use      []worker.Middleware[string]
		timedOut bool
	}{
		{"TimeoutOf", 0, []worker.Middleware[string]{limit(time.Hour)}, false},
		{"Timeout", time.Hour, nil, false},
		{"both", time.Hour, []worker.Middleware[string]{limit(2 * time.Hour), limit(time.Hour)}, false},
		{"a shorter TimeoutOf outside", 0, []worker.Middleware[string]{limit(time.Millisecond), limit(time.Hour)}, true},
		{"a shorter TimeoutOf inside", time.Hour, []worker.Middleware[string]{limit(time.Hour), limit(time.Millisecond)}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := shardq.MustNew(shardq.Options[string]{Metrics: true})
				pool, err := worker.New(q, worker.Options[string]{
					Workers: 1, Timeout: test.timeout, Use: test.use,
					Handle: func(ctx context.Context, _ string) error {
						<-ctx.Done()
						return fmt.Errorf("ended: %w", context.Cause(ctx))
					},
				})
				require.NoError(t, err)
				q.Add("a")
				ctx, release := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer release()
				require.NoError(t, pool.Run(ctx))
				counts, _ := attemptsOf(t, q)
				require.Equal(t, test.timedOut, counts[stats.TimedOut] > 0, counts)
				require.NotZero(t, counts[stats.TimedOut]+counts[stats.Failed])
			})
		})
	}
}

// Each attempt has one result, and the duration of its handler.
func TestC74EachResult(t *testing.T) {
	const timeout = 10 * time.Second
	late := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("late: %w", ctx.Err())
	}
	for _, test := range []struct {
		name   string
		handle func(ctx context.Context) error
		most   int // MaxAttempts
		want   stats.Result
		took   time.Duration
	}{
		{"success", func(context.Context) error { return nil }, 1, stats.Succeeded, time.Second},
		{"error", func(context.Context) error { return errOnPurpose }, 0, stats.Failed, time.Second},
		{"panic", func(context.Context) error { panic("on purpose") }, 0, stats.Panicked, time.Second},
		{"exit", func(context.Context) error { runtime.Goexit(); return nil }, 0, stats.Panicked, time.Second},
		{"an error that is a panic", func(context.Context) error { return &worker.PanicError{Value: 1} }, 0, stats.Panicked, time.Second},
		{"timeout", late, 0, stats.TimedOut, timeout},
		{"another error after the timeout", func(ctx context.Context) error { late(ctx); return errOnPurpose }, 0, stats.Failed, timeout},
		{"success after the timeout", func(ctx context.Context) error { late(ctx); return nil }, 0, stats.Succeeded, timeout},
		{"a panic after the timeout", func(ctx context.Context) error { panic(late(ctx)) }, 0, stats.Panicked, timeout},
		{"a timeout of its own", func(context.Context) error { return context.DeadlineExceeded }, 0, stats.Failed, time.Second},
		{"requeue", func(context.Context) error { return worker.RequeueAfter(time.Hour) }, 1, stats.Requeued, time.Second},
		{"permanent", func(context.Context) error { return worker.Permanent(errOnPurpose) }, 0, stats.Discarded, time.Second},
		{"the last attempt", func(context.Context) error { return errOnPurpose }, 1, stats.Discarded, time.Second},
		{"a panic in the last attempt", func(context.Context) error { panic("on purpose") }, 1, stats.Discarded, time.Second},
		{"a timeout of the last attempt", late, 1, stats.Discarded, timeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			ran := false
			handle := func(ctx context.Context, _ string) error {
				if ran {
					return worker.RequeueAfter(1000 * time.Hour)
				}
				ran = true
				time.Sleep(time.Second)
				return test.handle(ctx)
			}
			forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
				ran = false
				o.Timeout, o.MaxAttempts = timeout, test.most
				q := shardq.MustNew(shardq.Options[string]{Metrics: true})
				s := startPool(t, q, o)
				q.Add("a")
				synctest.Wait()
				time.Sleep(test.took)
				synctest.Wait()
				counts, took := attemptsOf(t, q)
				want, together := [stats.Results]uint64{}, [stats.Results]time.Duration{}
				want[test.want], together[test.want] = 1, test.took
				require.Equal(t, want, counts)
				require.Equal(t, together, took)
				require.Equal(t, counts[stats.Discarded], q.Stats().Discarded)
				s.stopPool(t)
			})
		})
	}
}

// Each item of a batch counts once, with its own result and the duration of the
// batch.
func TestC74ItemsOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := map[int]error{1: nil, 2: errOnPurpose, 3: worker.RequeueAfter(time.Hour), 4: worker.Permanent(errOnPurpose), 5: nil}
		q := shardq.MustNew(shardq.Options[int]{Metrics: true, Shards: 1})
		for item := range 5 {
			q.Add(item + 1)
		}
		s := startPool(t, q, worker.Options[int]{BatchSize: 5, HandleBatch: func(_ context.Context, items []int) (errs []error) {
			if len(items) == 5 {
				time.Sleep(time.Minute)
			}
			for _, item := range items {
				errs = append(errs, results[item])
			}
			results[2] = worker.RequeueAfter(time.Hour)
			return errs
		}})
		time.Sleep(time.Minute)
		synctest.Wait()
		counts, took := attemptsOf(t, q)
		require.Equal(t, [stats.Results]uint64{stats.Succeeded: 2, stats.Failed: 1, stats.Requeued: 1, stats.Discarded: 1}, counts)
		require.Equal(t, [stats.Results]time.Duration{
			stats.Succeeded: 2 * time.Minute, stats.Failed: time.Minute, stats.Requeued: time.Minute, stats.Discarded: time.Minute,
		}, took)
		s.stopPool(t)
	})
}

// An item that only a shutdown keeps from running again has the result of its
// handler.
func TestC74RefusedByAShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Metrics: true})
		s := startPool(t, q, worker.Options[string]{Workers: 2, Handle: func(_ context.Context, item string) error {
			q.ShutDown()
			if item == "fails" {
				return errOnPurpose
			}
			return worker.RequeueAfter(time.Second)
		}})
		q.AddBatch([]string{"fails", "asks again"}, shardq.AddOptions{})
		synctest.Wait()
		s.requireEnds(t)
		counts, _ := attemptsOf(t, q)
		require.Equal(t, [stats.Results]uint64{stats.Failed: 1, stats.Requeued: 1}, counts)
		failed, discarded := q.RecentFailures(10)
		require.Len(t, failed, 1)
		require.Empty(t, discarded)
		require.Len(t, s.discarded, 2)
	})
}

// Attempts are counted by group, and by nothing without groups or metrics.
func TestC74Groups(t *testing.T) {
	run := func(o shardq.Options[string]) *shardq.Queue[string] {
		q := shardq.MustNew(o)
		for i := range 30 {
			q.Add(fmt.Sprint("abc"[i%3:i%3+1], i/(i%3+1)))
		}
		q.ShutDown()
		require.NoError(t, q.Run(t.Context(), 3, func(_ context.Context, item string) error {
			if item[0] == 'a' {
				return worker.Permanent(errOnPurpose)
			}
			return nil
		}))
		return q
	}
	group := func(item string) string { return item[:1] }
	q := run(shardq.Options[string]{Metrics: true, Group: group})
	counts, _ := attemptsOf(t, q)
	all := q.Inspect().GroupAttempts(10)
	require.Len(t, all, 3)
	require.Equal(t, "a", all[0].Group)
	require.EqualValues(t, 10, all[0].Counts[stats.Discarded])
	var sum [stats.Results]uint64
	for _, g := range all {
		require.Zero(t, g.Missed)
		for result, n := range g.Counts {
			sum[result] += n
		}
	}
	require.Equal(t, counts, sum)
	require.Equal(t, all[:1], q.Inspect().GroupAttempts(1))
	require.Empty(t, q.Inspect().GroupAttempts(0))
	require.Empty(t, q.Inspect().GroupAttempts(-1))
	require.Empty(t, run(shardq.Options[string]{Metrics: true}).Inspect().GroupAttempts(10))
	require.Empty(t, run(shardq.Options[string]{Group: group}).Inspect().GroupAttempts(10))
}

// A coalescer counts the attempts at its keys.
func TestC74Coalescer(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[string, string]{
		Merge: func(_, next string) string { return next },
		Queue: shardq.Options[string]{Metrics: true, Group: func(key string) string { return key[:1] }},
	})
	require.NoError(t, c.Put("a1", "secret"))
	require.NoError(t, c.Put("b1", "secret"))
	c.ShutDown()
	require.NoError(t, c.Run(t.Context(), 1, func(_ context.Context, key, _ string) error {
		if key == "a1" {
			return worker.Permanent(errOnPurpose)
		}
		return nil
	}))
	counts, _ := attemptsOf(t, c)
	require.Equal(t, [stats.Results]uint64{stats.Succeeded: 1, stats.Discarded: 1}, counts)
	require.Len(t, c.Queue().Inspect().GroupAttempts(10), 2)
	_, discarded := c.Queue().RecentFailures(10)
	require.Len(t, discarded, 1)
	require.Equal(t, "a1", discarded[0].Item, "the key, without its value")
	require.Equal(t, "a", discarded[0].Group)
}

// A Group, a limiter or a clock that panics after the attempt loses no count.
func TestC74UserCodePanics(t *testing.T) {
	var mu sync.Mutex
	panics := false
	group := func(item string) string {
		mu.Lock()
		defer mu.Unlock()
		if panics {
			panic("on purpose")
		}
		return item
	}
	q := shardq.MustNew(shardq.Options[string]{Metrics: true, Group: group})
	q.Add("a")
	q.ShutDown()
	require.NoError(t, q.Run(t.Context(), 1, func(context.Context, string) error {
		mu.Lock()
		defer mu.Unlock()
		panics = true
		return worker.Permanent(errOnPurpose)
	}))
	counts, _ := attemptsOf(t, q)
	require.Equal(t, [stats.Results]uint64{stats.Discarded: 1}, counts)
	require.Equal(t, []stats.GroupAttempts{{Counts: counts}}, q.Inspect().GroupAttempts(10), "without a name")
	_, discarded := q.RecentFailures(10)
	require.Len(t, discarded, 1)
	require.Empty(t, discarded[0].Group)
}

// An owner that panics in ReportAttempt ends the pool, and no item is lost by
// it.
func TestC74OwnerPanics(t *testing.T) {
	for name, err := range map[string]error{"success": nil, "failure": errOnPurpose, "requeue": worker.RequeueAfter(0)} {
		forEachForm(t, func(context.Context, string) error { return err }, func(t *testing.T, o worker.Options[string]) {
			t.Log(name)
			o.Workers = 1
			q := shardq.MustNew(shardq.Options[string]{})
			q.Add("a")
			pool, fault := worker.New(panickingOwners{q}, o)
			require.NoError(t, fault)
			require.Panics(t, func() { _ = pool.Run(t.Context()) })
			st := q.Stats()
			require.Zero(t, st.Processing, "the claim has ended")
			require.Equal(t, err != nil, st.Held == 1, "what did not succeed runs again")
		})
	}
}

// panickingOwners are a queue whose claims have an owner that panics.
type panickingOwners struct{ queue *shardq.Queue[string] }

func (p panickingOwners) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (int, error) {
	n, err := p.queue.ClaimBatch(ctx, dst)
	for i, c := range dst[:n] {
		dst[i] = worker.NewClaim[string](c.Item, c.Priority, &panickingOwner{c.Owner()}, c.Token())
	}
	return n, err
}

type panickingOwner struct{ worker.Owner[string] }

func (*panickingOwner) CountsAttempts() bool                { return true }
func (*panickingOwner) ReportAttempt(worker.Report[string]) { panic("on purpose") }

// Without metrics a worker reports no attempt. With metrics, attempts allocate
// nothing in steady state.
func TestC74SteadyStateAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for name, o := range map[string]shardq.Options[int]{
		"without": {Shards: 1}, "metrics": {Shards: 1, Metrics: true},
		"groups": {Shards: 1, Metrics: true, Group: func(int) string { return "all" }},
	} {
		t.Run(name, func(t *testing.T) {
			q := shardq.MustNew(o)
			owner := engine.Of(q).Owner
			require.Equal(t, o.Metrics, owner.CountsAttempts())
			done := make(chan struct{})
			ended := make(chan error)
			go func() {
				ended <- q.Run(t.Context(), 1, func(context.Context, int) error { done <- struct{}{}; return nil })
			}()
			process := func() {
				q.Add(1)
				<-done
			}
			for range 1000 {
				process()
			}
			require.Less(t, testing.AllocsPerRun(1000, process), 0.5)
			q.ShutDown()
			require.NoError(t, <-ended)
		})
	}
}

// errorOfText has a text that may panic.
type errorOfText struct{ text func() string }

func (e errorOfText) Error() string { return e.text() }

// The last failures and discards are kept, whatever the options are.
func TestC75RecentFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		q := shardq.MustNew(shardq.Options[string]{Group: func(item string) string { return item[:1] }})
		failed, discarded := q.RecentFailures(10)
		require.Empty(t, failed)
		require.Empty(t, discarded)
		s := startPool(t, q, worker.Options[string]{MaxAttempts: 2, Handle: func(_ context.Context, item string) error {
			time.Sleep(time.Second)
			switch item {
			case "panics":
				panic(errors.New("the value"))
			case "asks":
				return worker.RequeueAfter(time.Hour)
			case "succeeds":
				return nil
			}
			return errors.New("of " + item)
		}})
		for _, item := range []string{"fails", "asks", "succeeds", "panics"} {
			q.Add(item)
			time.Sleep(time.Minute)
		}
		s.stopPool(t)
		failed, discarded = q.RecentFailures(10)
		require.Equal(t, []stats.Failure[string]{
			{Item: "panics", Group: "p", Attempt: 1, Time: begin.Add(3*time.Minute + time.Second), Error: "the value", Panicked: true},
			{Item: "fails", Group: "f", Attempt: 1, Time: begin.Add(time.Second), Error: "of fails"},
		}, failed)
		require.Len(t, discarded, 2)
		for i, item := range []string{"panics", "fails"} {
			require.Equal(t, item, discarded[i].Item)
			require.Equal(t, 2, discarded[i].Attempt)
			require.True(t, discarded[i].Discarded)
			require.Equal(t, "exhausted", discarded[i].Reason)
		}
		some, none := q.Inspect().RecentFailures(1)
		require.Equal(t, failed[0].Any(), some[0])
		require.Len(t, some, 1)
		require.Equal(t, discarded[0].Any(), none[0])
		failed, discarded = q.RecentFailures(-1)
		require.Empty(t, append(failed, discarded...))
	})
}

// Of many failures, the last 64 are kept. Many failures push out no discard.
func TestC75RecentFailuresAreBounded(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 1})
	for item := range 500 {
		q.Add(item)
	}
	q.ShutDown()
	require.NoError(t, q.Run(t.Context(), 1, func(_ context.Context, item int) error {
		if item == 3 {
			return worker.Permanent(errOnPurpose)
		}
		return errOnPurpose
	}))
	failed, discarded := q.RecentFailures(1000)
	require.Len(t, failed, 64)
	for i, f := range failed {
		require.Equal(t, 499-i, f.Item)
	}
	require.Len(t, discarded, 1)
	require.Equal(t, 3, discarded[0].Item)
	require.Equal(t, "permanent", discarded[0].Reason)
}

// The text of an error is short, and the queue asks for it once.
func TestC75TextsOfErrors(t *testing.T) {
	long := string(make([]byte, 511)) + "é" + string(make([]byte, 1<<20))
	asked := 0
	texts := map[string]error{
		"long":   errors.New(long),
		"panics": errorOfText{func() string { panic("on purpose") }},
		"asked":  errorOfText{func() string { asked++; return "once" }},
	}
	q := shardq.MustNew(shardq.Options[string]{})
	for item := range texts {
		q.Add(item)
	}
	q.ShutDown()
	require.NoError(t, q.Run(t.Context(), 1, func(_ context.Context, item string) error { return worker.Permanent(texts[item]) }))
	_, discarded := q.RecentFailures(10)
	require.Len(t, discarded, len(texts))
	for _, f := range discarded {
		switch f.Item {
		case "long":
			require.Equal(t, long[:511]+"…", f.Error)
		case "panics":
			require.Contains(t, f.Error, "on purpose")
		case "asked":
			require.Equal(t, "once", f.Error)
			require.Equal(t, 1, asked)
		}
		require.False(t, f.Time.IsZero())
	}
}

// A clock that panics when the queue keeps a failure does not end the worker.
func TestC75ClockPanics(t *testing.T) {
	c := &fickleClock{Clock: newFake()}
	q := shardq.MustNew(shardq.Options[string]{Clock: c})
	q.Add("a")
	q.ShutDown()
	require.NoError(t, q.Run(t.Context(), 1, func(context.Context, string) error {
		c.panics = true
		return worker.Permanent(errOnPurpose)
	}))
	_, discarded := q.RecentFailures(10)
	require.Len(t, discarded, 1)
	require.False(t, discarded[0].Time.IsZero(), "the real time")
}

// A fickleClock panics once the field is set.
type fickleClock struct {
	clock.Clock
	panics bool
}

func (c *fickleClock) Now() time.Time {
	if c.panics {
		panic("on purpose")
	}
	return c.Clock.Now()
}
