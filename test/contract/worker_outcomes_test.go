package contract

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// forEachForm runs a test with a handler in both forms: for items, and for
// batches.
func forEachForm(t *testing.T, handle func(context.Context, string) error, test func(t *testing.T, o worker.Options[string])) {
	t.Helper()
	inBatches := func(ctx context.Context, items []string) []error {
		errs := make([]error, len(items))
		for i, item := range items {
			errs[i] = handle(ctx, item)
			items[i] = "spoilt" // the handler owns the slice
		}
		return errs
	}
	for name, o := range map[string]worker.Options[string]{
		"single": {Handle: handle},
		"batch":  {HandleBatch: inBatches, BatchSize: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, o) })
		})
	}
}

// requireFailures checks the calls of hooks, in order, as "item attempt:
// error".
func requireFailures(t *testing.T, reported []worker.Failure[string], want ...string) {
	t.Helper()
	var got []string
	for _, f := range reported {
		require.Error(t, f.Err)
		got = append(got, fmt.Sprintf("%s %d: %v", f.Item, f.Attempt, f.Err))
	}
	require.Equal(t, want, got)
}

// An item that fails runs again after the limiter's delay, until it succeeds.
func TestC50FailuresAreRetried(t *testing.T) {
	var times []time.Duration
	var begin time.Time
	left := 3
	handle := func(context.Context, string) error {
		times = append(times, time.Since(begin))
		if left--; left >= 0 {
			return errOnPurpose
		}
		return nil
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		begin, times, left = time.Now(), nil, 3
		q := shardq.MustNew(shardq.Options[string]{Name: "mail", RateLimiter: limiter.NewExponential[string](time.Second, time.Hour)})
		s := startPool(t, q, o)
		q.Add("a")
		time.Sleep(time.Minute)
		s.stopPool(t)
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, times)
		requireFailures(t, s.failed, "a 1: on purpose", "a 2: on purpose", "a 3: on purpose")
		require.Equal(t, "mail", s.failed[0].Queue)
		require.Empty(t, s.discarded)
		require.Zero(t, q.NumRequeues("a"))
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC50RequeueAfterIsNoFailure(t *testing.T) {
	runs := 0
	handle := func(context.Context, string) error {
		switch runs++; runs {
		case 1:
			return errOnPurpose
		case 2:
			return fmt.Errorf("not there yet: %w", worker.RequeueAfter(time.Hour))
		case 3:
			return worker.RequeueAfter(0)
		}
		return nil
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		runs = 0
		q := newQueue[string](2)
		s := startPool(t, q, o)
		q.Add("a")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, runs)
		require.Zero(t, q.NumRequeues("a"), "its history is gone")
		requireCounts(t, q, 0, 1, 0)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 4, runs)
		requireFailures(t, s.failed, "a 1: on purpose")
		require.Empty(t, s.discarded)
		requireCounts(t, q, 0, 0, 0)
		s.stopPool(t)
	})
	require.EqualError(t, worker.RequeueAfter(time.Second), "worker: requeue after 1s")
}

// TestC50PriorityIsKept checks that an item that fails or is requeued keeps its
// priority, and runs after items of a higher one.
func TestC50PriorityIsKept(t *testing.T) {
	var order []string
	handle := func(_ context.Context, item string) error {
		order = append(order, item)
		switch len(order) {
		case 2:
			return errOnPurpose
		case 4:
			return worker.RequeueAfter(time.Hour)
		}
		return nil
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		order = nil
		q := newQueue[string](1)
		low := shardq.AddOptions{Priority: -5}
		q.AddWith("low", low)
		q.Add("first")
		o.BatchSize = min(o.BatchSize, 1)
		s := startPool(t, q, o)
		for round := range 2 {
			synctest.Wait()
			requireCounts(t, q, 0, 1, 0)
			for row := range q.All(stats.Delayed) {
				require.Equal(t, -5, row.Priority, "round %d", round)
			}
			q.Add("between")
			synctest.Wait()
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"first", "low", "between", "low", "between", "low"}, order)
		s.stopPool(t)
	})
}

func TestC50PermanentIsDiscarded(t *testing.T) {
	handle := func(context.Context, string) error {
		return fmt.Errorf("row 7: %w", worker.Permanent(fmt.Errorf("%w: %w", worker.RequeueAfter(1), errOnPurpose)))
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		q := newQueue[string](2)
		s := startPool(t, q, o)
		q.AddRateLimited("a") // a failure that counts
		time.Sleep(time.Hour)
		s.stopPool(t)
		requireFailures(t, s.failed, "a 2: row 7: worker: requeue after 1ns: on purpose")
		require.Equal(t, s.failed, s.discarded)
		require.ErrorIs(t, s.discarded[0].Err, errOnPurpose)
		require.Zero(t, q.NumRequeues("a"))
		requireCounts(t, q, 0, 0, 0)
	})
	require.NoError(t, worker.Permanent(nil))
}

func TestC50MaxAttempts(t *testing.T) {
	forEachForm(t, failing[string](100, errOnPurpose), func(t *testing.T, o worker.Options[string]) {
		o.MaxAttempts = 3
		q := newQueue[string](2)
		s := startPool(t, q, o)
		q.Add("a")
		time.Sleep(time.Hour)
		synctest.Wait()
		requireFailures(t, s.failed, "a 1: on purpose", "a 2: on purpose", "a 3: on purpose")
		require.Equal(t, s.failed[2:], s.discarded)
		require.Equal(t, []bool{false, false, true}, []bool{s.failed[0].Final, s.failed[1].Final, s.failed[2].Final})
		q.Add("a") // after its end
		synctest.Wait()
		require.Equal(t, 1, s.failed[3].Attempt)
		s.stopPool(t)
	})
}

// With a limiter that counts no failures, every attempt is the first.
func TestC50AttemptsAreTheLimiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{RateLimiter: limiter.NewBucket[string](rate.NewLimiter(1000, 1))})
		s := startPool(t, q, worker.Options[string]{Handle: failing[string](4, errOnPurpose), MaxAttempts: 2})
		q.Add("a")
		time.Sleep(time.Hour)
		s.stopPool(t)
		requireFailures(t, s.failed, "a 1: on purpose", "a 1: on purpose", "a 1: on purpose", "a 1: on purpose")
		require.Empty(t, s.discarded)
	})
}

// An item that is added while it is discarded runs again.
func TestC50AddedWhileItIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](2)
		runs := 0
		s := startPool(t, q, worker.Options[string]{Handle: func(context.Context, string) error {
			if runs++; runs == 1 {
				q.Add("a")
				return worker.Permanent(errOnPurpose)
			}
			return nil
		}})
		q.Add("a")
		synctest.Wait()
		require.Equal(t, 2, runs)
		require.Len(t, s.discarded, 1)
		s.stopPool(t)
	})
}

// A nilError panics in Unwrap.
type nilError struct{ inner error }

func (e *nilError) Error() string { return "nil" }
func (e *nilError) Unwrap() error { return e.inner }

// However a handler ends, its item has failed, and the workers go on.
func TestC50HandlersThatDoNotReturn(t *testing.T) {
	for name, end := range map[string]struct {
		by    func() error
		check func(t *testing.T, err error)
	}{
		"panic": {func() error { panic("lost") }, func(t *testing.T, err error) {
			panicked, is := errors.AsType[*worker.PanicError](err)
			require.True(t, is)
			require.Equal(t, "lost", panicked.Value)
			require.Contains(t, string(panicked.Stack), "TestC50HandlersThatDoNotReturn")
			require.Contains(t, err.Error(), "panic: lost\n\ngoroutine")
			require.NoError(t, errors.Unwrap(err))
		}},
		"panic with an error": {func() error { panic(errOnPurpose) }, func(t *testing.T, err error) {
			require.ErrorIs(t, err, errOnPurpose)
		}},
		"Goexit": {func() error { runtime.Goexit(); return nil }, func(t *testing.T, err error) {
			require.Equal(t, worker.ErrGoexit, err)
		}},
		"an error that panics": {func() error { return (*nilError)(nil) }, func(t *testing.T, err error) {
			_, is := errors.AsType[*worker.PanicError](err)
			require.True(t, is)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ends := 0
			handle := func(context.Context, string) error {
				if ends++; ends <= 5 {
					return end.by()
				}
				return nil
			}
			forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
				ends = 0
				q := newQueue[string](2)
				s := startPool(t, q, o)
				q.Add("a")
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Len(t, s.failed, 5)
				for i, f := range s.failed {
					require.Equal(t, i+1, f.Attempt)
					end.check(t, f.Err)
				}
				require.Equal(t, 1, s.Len())
				require.Equal(t, 6, ends)
				requireCounts(t, q, 0, 0, 0)
				s.stopPool(t)
			})
		})
	}
}

// The context of an attempt ends with its timeout, and the next has a new one.
func TestC50Timeout(t *testing.T) {
	var begin time.Time
	handle := func(ctx context.Context, _ string) error {
		if begin.IsZero() {
			begin = time.Now()
			<-ctx.Done()
			return ctx.Err()
		}
		return ctx.Err()
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		begin = time.Time{}
		o.Timeout = time.Minute
		var failedAt time.Time
		var err error
		o.OnError = func(_ context.Context, f worker.Failure[string]) { failedAt, err = time.Now(), f.Err }
		q := newQueue[string](2)
		s := startPool(t, q, o)
		q.Add("a")
		time.Sleep(time.Hour)
		s.stopPool(t)
		require.Equal(t, time.Minute, failedAt.Sub(begin))
		require.Equal(t, context.DeadlineExceeded, err)
		requireCounts(t, q, 0, 0, 0)
	})
}

// After a shutdown has begun nothing runs again, and each item is reported.
func TestC50FailureDuringAShutdown(t *testing.T) {
	for _, err := range []error{errOnPurpose, worker.RequeueAfter(time.Second)} {
		gate := make(chan struct{})
		handle := func(context.Context, string) error {
			<-gate
			return err
		}
		forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
			gate = make(chan struct{})
			q := newQueue[string](2)
			s := startPool(t, q, o)
			q.Add("a")
			synctest.Wait()
			q.AddRateLimited("b") // delayed
			q.ShutDown()
			close(gate)
			s.requireEnds(t)
			requireFailures(t, s.discarded, "a 1: shardq: queue is shut down: "+err.Error())
			require.ErrorIs(t, s.discarded[0].Err, shardq.ErrShutDown)
			require.ErrorIs(t, s.discarded[0].Err, err)
			require.True(t, s.discarded[0].Final)
			require.Equal(t, err != errOnPurpose, s.discarded[0].Requeued)
			for _, f := range s.failed {
				require.False(t, f.Final || f.Requeued, "it was not known")
			}
			require.Zero(t, q.NumRequeues("a"))
			require.EqualValues(t, 1, q.Stats().Dropped, "b alone: nothing was added in vain")
		})
	}
}

// A shutdown that begins while an item is requeued cannot drop it without a
// report. Here the queue is shut down during the call of the limiter.
func TestC50ShutdownBesideARequeue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiterWithHook{Limiter: limiter.NewExponential[string](time.Second, time.Hour)}
		q := shardq.MustNew(shardq.Options[string]{RateLimiter: l})
		l.hook = q.ShutDown
		s := startPool(t, q, worker.Options[string]{Handle: failing[string](1, errOnPurpose)})
		q.Add("a")
		s.requireEnds(t)
		requireFailures(t, s.discarded, "a 1: shardq: queue is shut down: on purpose")
		require.EqualValues(t, 1, q.Stats().Dropped)
	})
}

// An item that a drain drops while it is requeued is reported once: it was
// added, and delayed already.
func TestC50DropBesideARequeueIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clockWithHook{Fake: newFake()}
		q := shardq.MustNew(shardq.Options[string]{Clock: c, RateLimiter: limiter.NewExponential[string](time.Second, time.Hour)})
		var s *runningPool[string]
		s = startPool(t, q, worker.Options[string]{
			Drain: q.DrainWith(shardq.DrainOptions{}),
			Handle: func(context.Context, string) error {
				c.onTimer = func() { // the item is delayed already
					s.stop()
					for !q.ShuttingDown() {
						runtime.Gosched()
					}
				}
				return errOnPurpose
			},
		})
		q.Add("a")
		s.requireEnds(t)
		require.EqualValues(t, 1, q.Stats().Dropped)
		requireFailures(t, s.discarded, "a 1: shardq: queue is shut down: dropped while it was delayed")
	})
}

// An item that is delayed when a drain begins is reported with its attempts.
func TestC50DroppedItemsHaveTheirAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{RateLimiter: limiter.NewExponential[string](time.Hour, time.Hour)})
		s := startPool(t, q, worker.Options[string]{Drain: q.DrainWith(shardq.DrainOptions{}), Handle: failing[string](1, errOnPurpose)})
		q.Add("a")
		synctest.Wait()
		s.stopPool(t)
		requireFailures(t, s.discarded, "a 1: shardq: queue is shut down: dropped while it was delayed")
		require.Zero(t, q.NumRequeues("a"))
	})
}

// A limiterWithHook calls a function before it returns a delay.
type limiterWithHook struct {
	limiter.Limiter[string]
	hook func()
}

func (l *limiterWithHook) When(item string) time.Duration {
	l.hook()
	return l.Limiter.When(item)
}

// A clockWithHook calls a function when a timer is set. By then the item is
// delayed.
type clockWithHook struct {
	*clock.Fake
	onTimer func()
}

func (c *clockWithHook) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.onTimer()
	return c.Fake.AfterFunc(d, f)
}
