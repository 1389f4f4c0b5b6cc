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
)

// forEachForm runs a test with a handler in both forms: of items, and of batches.
func forEachForm(t *testing.T, handle func(context.Context, string) error, test func(t *testing.T, o shardq.WorkerOptions[string])) {
	t.Helper()
	inBatches := func(ctx context.Context, items []string) []error {
		errs := make([]error, len(items))
		for i, item := range items {
			errs[i] = handle(ctx, item)
			items[i] = "spoilt" // the slice is the handler's
		}
		return errs
	}
	for name, o := range map[string]shardq.WorkerOptions[string]{
		"single": {Handle: handle},
		"batch":  {HandleBatch: inBatches, BatchSize: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, o) })
		})
	}
}

// requireFailures checks what hooks were told, in order, as "item attempt: error".
func requireFailures(t *testing.T, told []shardq.Failure[string], want ...string) {
	t.Helper()
	var got []string
	for _, f := range told {
		require.Error(t, f.Err)
		got = append(got, fmt.Sprintf("%s %d: %v", f.Item, f.Attempt, f.Err))
	}
	require.Equal(t, want, got)
}

// An item that fails comes again after the limiter's delay, until it succeeds.
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
	forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
		begin, times, left = time.Now(), nil, 3
		q := shardq.Must(shardq.Options[string]{Name: "mail", RateLimiter: limiter.NewExponential[string](time.Second, time.Hour)})
		s := employ(t, q, o)
		q.Add("a")
		time.Sleep(time.Minute)
		s.dismiss(t)
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, times)
		requireFailures(t, s.failed, "a 1: on purpose", "a 2: on purpose", "a 3: on purpose")
		require.Equal(t, "mail", s.failed[0].Queue)
		require.Empty(t, s.givenUp)
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
			return fmt.Errorf("not there yet: %w", shardq.RequeueAfter(time.Hour))
		case 3:
			return shardq.RequeueAfter(0)
		}
		return nil
	}
	forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
		runs = 0
		q := newQueue[string](2)
		s := employ(t, q, o)
		q.Add("a")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, runs)
		require.Zero(t, q.NumRequeues("a"), "its history is forgotten")
		requireCounts(t, q, 0, 1, 0)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 4, runs)
		requireFailures(t, s.failed, "a 1: on purpose")
		require.Empty(t, s.givenUp)
		requireCounts(t, q, 0, 0, 0)
		s.dismiss(t)
	})
	require.EqualError(t, shardq.RequeueAfter(time.Second), "shardq: requeue after 1s")
}

// TestC50PriorityIsKept: what fails or is requeued comes again with its priority, behind those
// of a higher one.
func TestC50PriorityIsKept(t *testing.T) {
	var order []string
	handle := func(_ context.Context, item string) error {
		order = append(order, item)
		switch len(order) {
		case 2:
			return errOnPurpose
		case 4:
			return shardq.RequeueAfter(time.Hour)
		}
		return nil
	}
	forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
		order = nil
		q := newQueue[string](1)
		low := shardq.AddOptions{Priority: -5}
		q.AddWith("low", low)
		q.Add("first")
		o.BatchSize = min(o.BatchSize, 1)
		s := employ(t, q, o)
		for round := range 2 {
			synctest.Wait()
			requireCounts(t, q, 0, 1, 0)
			for row := range q.All(shardq.Waiting) {
				require.Equal(t, -5, row.Priority, "round %d", round)
			}
			q.Add("between")
			synctest.Wait()
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"first", "low", "between", "low", "between", "low"}, order)
		s.dismiss(t)
	})
}

func TestC50PermanentIsGivenUp(t *testing.T) {
	handle := func(context.Context, string) error {
		return fmt.Errorf("row 7: %w", shardq.Permanent(fmt.Errorf("%w: %w", shardq.RequeueAfter(1), errOnPurpose)))
	}
	forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
		q := newQueue[string](2)
		s := employ(t, q, o)
		q.AddRateLimited("a") // a failure that counts
		time.Sleep(time.Hour)
		s.dismiss(t)
		requireFailures(t, s.failed, "a 2: row 7: shardq: requeue after 1ns: on purpose")
		require.Equal(t, s.failed, s.givenUp)
		require.ErrorIs(t, s.givenUp[0].Err, errOnPurpose)
		require.Zero(t, q.NumRequeues("a"))
		requireCounts(t, q, 0, 0, 0)
	})
	require.NoError(t, shardq.Permanent(nil))
}

func TestC50MaxAttempts(t *testing.T) {
	forEachForm(t, failing[string](100, errOnPurpose), func(t *testing.T, o shardq.WorkerOptions[string]) {
		o.MaxAttempts = 3
		q := newQueue[string](2)
		s := employ(t, q, o)
		q.Add("a")
		time.Sleep(time.Hour)
		synctest.Wait()
		requireFailures(t, s.failed, "a 1: on purpose", "a 2: on purpose", "a 3: on purpose")
		require.Equal(t, s.failed[2:], s.givenUp)
		require.Equal(t, []bool{false, false, true}, []bool{s.failed[0].Final, s.failed[1].Final, s.failed[2].Final})
		q.Add("a") // a new life
		synctest.Wait()
		require.Equal(t, 1, s.failed[3].Attempt)
		s.dismiss(t)
	})
}

// A limiter that counts nobody's failures knows of first attempts only.
func TestC50AttemptsAreTheLimiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.Must(shardq.Options[string]{RateLimiter: limiter.NewBucket[string](rate.NewLimiter(1000, 1))})
		s := employ(t, q, shardq.WorkerOptions[string]{Handle: failing[string](4, errOnPurpose), MaxAttempts: 2})
		q.Add("a")
		time.Sleep(time.Hour)
		s.dismiss(t)
		requireFailures(t, s.failed, "a 1: on purpose", "a 1: on purpose", "a 1: on purpose", "a 1: on purpose")
		require.Empty(t, s.givenUp)
	})
}

// What is added while it fails for good runs anew.
func TestC50AddedWhileItIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](2)
		runs := 0
		s := employ(t, q, shardq.WorkerOptions[string]{Handle: func(context.Context, string) error {
			if runs++; runs == 1 {
				q.Add("a")
				return shardq.Permanent(errOnPurpose)
			}
			return nil
		}})
		q.Add("a")
		synctest.Wait()
		require.Equal(t, 2, runs)
		require.Len(t, s.givenUp, 1)
		s.dismiss(t)
	})
}

// A nilError panics when it is asked what it wraps.
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
			panicked, is := errors.AsType[*shardq.PanicError](err)
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
			require.Equal(t, shardq.ErrGoexit, err)
		}},
		"an error that panics": {func() error { return (*nilError)(nil) }, func(t *testing.T, err error) {
			_, is := errors.AsType[*shardq.PanicError](err)
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
			forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
				ends = 0
				q := newQueue[string](2)
				s := employ(t, q, o)
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
				s.dismiss(t)
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
	forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
		begin = time.Time{}
		o.Timeout = time.Minute
		var failedAt time.Time
		var err error
		o.OnError = func(f shardq.Failure[string]) { failedAt, err = time.Now(), f.Err }
		q := newQueue[string](2)
		s := employ(t, q, o)
		q.Add("a")
		time.Sleep(time.Hour)
		s.dismiss(t)
		require.Equal(t, time.Minute, failedAt.Sub(begin))
		require.Equal(t, context.DeadlineExceeded, err)
		requireCounts(t, q, 0, 0, 0)
	})
}

// Once a shutdown has begun nothing can come again, and each is told of.
func TestC50FailureDuringAShutdown(t *testing.T) {
	for _, err := range []error{errOnPurpose, shardq.RequeueAfter(time.Second)} {
		gate := make(chan struct{})
		handle := func(context.Context, string) error {
			<-gate
			return err
		}
		forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
			gate = make(chan struct{})
			q := newQueue[string](2)
			s := employ(t, q, o)
			q.Add("a")
			synctest.Wait()
			q.AddRateLimited("b") // waits
			q.ShutDown()
			close(gate)
			s.requireEnds(t)
			requireFailures(t, s.givenUp, "a 1: shardq: queue is shut down: "+err.Error())
			require.ErrorIs(t, s.givenUp[0].Err, shardq.ErrShutDown)
			require.ErrorIs(t, s.givenUp[0].Err, err)
			require.True(t, s.givenUp[0].Final)
			require.Equal(t, err != errOnPurpose, s.givenUp[0].Requeued)
			for _, f := range s.failed {
				require.False(t, f.Final || f.Requeued, "nobody could know")
			}
			require.Zero(t, q.NumRequeues("a"))
			require.EqualValues(t, 1, q.Stats().Dropped, "b alone: nothing was added in vain")
		})
	}
}

// A shutdown that begins while an item is requeued cannot drop it unseen: here the limiter
// is asked, and before it answers the queue is shut down.
func TestC50ShutdownBesideARequeue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiterWithHook{Limiter: limiter.NewExponential[string](time.Second, time.Hour)}
		q := shardq.Must(shardq.Options[string]{RateLimiter: l})
		l.hook = q.ShutDown
		s := employ(t, q, shardq.WorkerOptions[string]{Handle: failing[string](1, errOnPurpose)})
		q.Add("a")
		s.requireEnds(t)
		requireFailures(t, s.givenUp, "a 1: shardq: queue is shut down: on purpose")
		require.EqualValues(t, 1, q.Stats().Dropped)
	})
}

// An item that a drain drops while it is requeued is told of once: it was taken in, and
// waited already.
func TestC50DropBesideARequeueIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clockWithHook{Fake: newFake()}
		q := shardq.Must(shardq.Options[string]{Clock: c, RateLimiter: limiter.NewExponential[string](time.Second, time.Hour)})
		var s *staff[string]
		s = employ(t, q, shardq.WorkerOptions[string]{
			Drain: &shardq.DrainOptions{},
			Handle: func(context.Context, string) error {
				c.onTimer = func() { // the item waits already
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
		requireFailures(t, s.givenUp, "a 1: shardq: queue is shut down: dropped while it waited for its delay")
	})
}

// What waits when a drain begins is told of with the attempts that it had.
func TestC50DroppedItemsHaveTheirAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.Must(shardq.Options[string]{RateLimiter: limiter.NewExponential[string](time.Hour, time.Hour)})
		s := employ(t, q, shardq.WorkerOptions[string]{Drain: &shardq.DrainOptions{}, Handle: failing[string](1, errOnPurpose)})
		q.Add("a")
		synctest.Wait()
		s.dismiss(t)
		requireFailures(t, s.givenUp, "a 1: shardq: queue is shut down: dropped while it waited for its delay")
		require.Zero(t, q.NumRequeues("a"))
	})
}

// A limiterWithHook calls a function before it answers.
type limiterWithHook struct {
	limiter.Limiter[string]
	hook func()
}

func (l *limiterWithHook) When(item string) time.Duration {
	l.hook()
	return l.Limiter.When(item)
}

// A clockWithHook calls a function when a timer is set, by when the item waits already.
type clockWithHook struct {
	*clock.Fake
	onTimer func()
}

func (c *clockWithHook) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.onTimer()
	return c.Fake.AfterFunc(d, f)
}
