package contract

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// runToPanic runs workers and returns the panic of Run.
func runToPanic[T comparable](t *testing.T, q *shardq.Queue[T], o worker.Options[T]) (fault *worker.PanicError) {
	t.Helper()
	o.Workers = 1
	w, err := worker.New(q, o)
	require.NoError(t, err)
	func() {
		defer func() { fault, _ = recover().(*worker.PanicError) }()
		err = w.Run(t.Context())
	}()
	require.NotNil(t, fault, "Run returned %v", err)
	require.Zero(t, w.Len())
	return fault
}

// Hooks are called before the item's Done, with no lock held, and may call
// everything.
func TestC51HooksMayDoAnything(t *testing.T) {
	handle := func(context.Context, string) error { return worker.Permanent(errOnPurpose) }
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		q := newQueue[string](2)
		var s *runningPool[string]
		tell := func(_ context.Context, f worker.Failure[string]) {
			require.Equal(t, 1, q.Stats().Processing)
			s.Resize(2)
			require.Equal(t, 2, s.Len())
			q.Snapshot(10)
			s.note(&s.failed, f)
		}
		o.OnError, o.OnDiscard = tell, func(ctx context.Context, f worker.Failure[string]) {
			tell(ctx, f)
			if len(s.failed) == 2 {
				q.Add("a")
			}
		}
		s = startPool(t, q, o)
		q.Add("a")
		synctest.Wait()
		requireFailures(t, s.failed, "a 1: on purpose", "a 1: on purpose", "a 1: on purpose", "a 1: on purpose")
		s.stopPool(t)
	})
}

// A hook that panics ends Run, which panics in its caller. All items of the
// batch are in the right state.
func TestC51HookThatPanics(t *testing.T) {
	for _, hook := range []string{"OnError", "OnDiscard"} {
		t.Run(hook, func(t *testing.T) {
			handle := func(_ context.Context, item string) error {
				if item == "p" {
					return worker.Permanent(errOnPurpose)
				}
				return errOnPurpose
			}
			forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
				lose := func(context.Context, worker.Failure[string]) { panic("hook") }
				if hook == "OnError" {
					o.OnError = lose
				} else {
					o.OnDiscard = lose
				}
				q := newQueue[string](1)
				q.AddBatch([]string{"p", "q", "r"}, shardq.AddOptions{})
				fault := runToPanic(t, q, o)
				require.Equal(t, "hook", fault.Value)
				require.Contains(t, string(fault.Stack), "TestC51HookThatPanics")
				require.Zero(t, q.Stats().Processing, "an item was not Done")
				require.Zero(t, q.NumRequeues("p"), "it is discarded")
				time.Sleep(time.Minute)
				requireExactly(t, []string{"q", "r"}, takeAll(t, q))
			})
		})
	}
}

// A hook that ends its goroutine has the effect of one that returns.
func TestC51HookThatEndsItsGoroutine(t *testing.T) {
	forEachForm(t, failing[string](100, errOnPurpose), func(t *testing.T, o worker.Options[string]) {
		var reported atomic.Int32
		o.MaxAttempts = 2
		o.OnError = func(context.Context, worker.Failure[string]) { reported.Add(1); runtime.Goexit() }
		o.OnDiscard = func(context.Context, worker.Failure[string]) { reported.Add(1); runtime.Goexit() }
		q := newQueue[string](1)
		q.AddBatch([]string{"a", "b", "c"}, shardq.AddOptions{})
		s := startPool(t, q, o)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.EqualValues(t, 9, reported.Load())
		require.Equal(t, 1, s.Len())
		requireCounts(t, q, 0, 0, 0)
		require.Zero(t, q.NumRequeues("a"))
		s.stopPool(t)
	})
}

// A mortalLimiter panics at this call, counted from 1.
type mortalLimiter struct {
	limiter.Limiter[string]
	calls, last int
}

func (l *mortalLimiter) live() {
	if l.calls++; l.calls == l.last {
		panic("limiter")
	}
}

func (l *mortalLimiter) When(item string) time.Duration { l.live(); return l.Limiter.When(item) }
func (l *mortalLimiter) Forget(item string)             { l.live(); l.Limiter.Forget(item) }
func (l *mortalLimiter) NumRequeues(item string) (n int) {
	l.live()
	return l.Limiter.NumRequeues(item)
}

// Whenever the limiter panics, the item is Done, and one that failed runs
// again.
func TestC51LimiterThatPanics(t *testing.T) {
	for last := 1; last <= 3; last++ { // NumRequeues, When, and Forget after the success
		synctest.Test(t, func(t *testing.T) {
			l := &mortalLimiter{limiter.NewExponential[string](time.Second, time.Hour), 0, last}
			q := shardq.MustNew(shardq.Options[string]{RateLimiter: l})
			q.Add("a")
			fault := runToPanic(t, q, worker.Options[string]{Handle: failing[string](1, errOnPurpose)})
			require.Equal(t, "limiter", fault.Value)
			if last < 3 {
				requireCounts(t, q, 1, 0, 0)
			} else {
				requireCounts(t, q, 0, 0, 0)
			}
		})
	}
}

// A panic beside a drain: Run does not wait for the drain any more.
func TestC51HookThatPanicsDuringADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		q.AddBatch(numbers(3), shardq.AddOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		w, err := worker.New(q, worker.Options[int]{
			Workers: 1, Drain: q.DrainWith(shardq.DrainOptions{Retries: shardq.RefuseRetries}),
			Handle: func(context.Context, int) error {
				cancel()
				for !q.ShuttingDown() {
					runtime.Gosched()
				}
				return errOnPurpose
			},
			OnDiscard: func(context.Context, worker.Failure[int]) { panic("hook") },
		})
		require.NoError(t, err)
		defer func() {
			fault, is := recover().(*worker.PanicError)
			require.True(t, is)
			require.Equal(t, "hook", fault.Value)
			requireCounts(t, q, 2, 0, 0)
		}()
		err = w.Run(ctx)
		require.Fail(t, "Run returned", "%v", err)
	})
}

// Each item that a drain dropped is reported, also if a hook panics.
func TestC51EachDroppedItemIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		reported := 0
		w, err := worker.New(q, worker.Options[int]{
			Workers: 1, Drain: q.DrainWith(shardq.DrainOptions{}), Handle: succeed[int],
			OnDiscard: func(context.Context, worker.Failure[int]) { reported++; panic("hook") },
		})
		require.NoError(t, err)
		for i := range 3 {
			q.AddAfter(i, time.Hour)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		func() {
			defer func() {
				fault, is := recover().(*worker.PanicError)
				require.True(t, is)
				require.Equal(t, "hook", fault.Value)
			}()
			_ = w.Run(ctx)
			require.Fail(t, "Run returned")
		}()
		require.Equal(t, 3, reported)
		require.Zero(t, w.Len())
	})
}

// A hook that ends its goroutine during the report of a dropped item has the
// effect of one that returns. The caller of Run goes on.
func TestC51GoexitWhileDroppedItemsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		reported := 0
		w, err := worker.New(q, worker.Options[int]{
			Workers: 1, Drain: q.DrainWith(shardq.DrainOptions{}), Handle: succeed[int],
			OnDiscard: func(context.Context, worker.Failure[int]) { reported++; runtime.Goexit() },
		})
		require.NoError(t, err)
		q.AddAfter(1, time.Hour)
		q.AddAfter(2, time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, w.Run(ctx))
		require.Equal(t, 2, reported)
	})
}

// While a hook is slow, the workers go on with the other items.
func TestC51SlowHookBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](2)
		gate := make(chan struct{})
		done := map[string]bool{}
		s := startPool(t, q, worker.Options[string]{
			Workers: 2,
			Handle: func(_ context.Context, item string) error {
				done[item] = true
				if item == "slow" {
					return worker.Permanent(errOnPurpose)
				}
				return nil
			},
			OnError: func(context.Context, worker.Failure[string]) { <-gate },
		})
		q.Add("slow")
		synctest.Wait()
		q.Add("slow") // it is in processing while its hook runs
		q.Add("other")
		synctest.Wait()
		require.True(t, done["other"])
		requireCounts(t, q, 0, 0, 1)
		close(gate)
		synctest.Wait()
		require.Len(t, s.discarded, 2)
		s.stopPool(t)
	})
}

// If HandleBatch returns the wrong number of errors, all items have failed.
func TestC50AnswerOfTheWrongLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](1)
		answers := [][]error{make([]error, 1), {}, nil}
		var sizes []int
		s := startPool(t, q, worker.Options[string]{
			BatchSize: 2, MaxAttempts: 2,
			HandleBatch: func(_ context.Context, items []string) []error {
				sizes = append(sizes, len(items))
				answer := answers[0]
				answers = answers[1:]
				return answer
			},
		})
		q.AddBatch([]string{"a", "b"}, shardq.AddOptions{})
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []int{2, 2}, sizes)
		const text = "worker: HandleBatch returned 1 errors for 2 items: want as many, or nil"
		requireFailures(t, s.failed[:2], "a 1: "+text, "b 1: "+text)
		require.Len(t, s.discarded, 2)
		answers = append(answers, nil)
		q.AddBatch([]string{"a", "b", "c"}, shardq.AddOptions{})
		synctest.Wait()
		require.Equal(t, []int{2, 2, 2, 1}, sizes)
		require.Len(t, s.failed, 4)
		requireCounts(t, q, 0, 0, 0)
		s.stopPool(t)
	})
}
