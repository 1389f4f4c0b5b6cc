package contract

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/internal/nowait"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A runningPool is a Pool whose Run has not returned, with the calls of its
// hooks.
type runningPool[T comparable] struct {
	*worker.Pool[T]
	stop     context.CancelFunc
	stopWith context.CancelCauseFunc
	ended    func() bool
	err      error // of Run, once it has ended

	mu                          sync.Mutex
	failed, discarded, leftover []worker.Failure[T]
}

func (s *runningPool[T]) note(where *[]worker.Failure[T], f worker.Failure[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*where = append(*where, f)
}

// requireEnds checks that Run has returned without an error when all other
// goroutines are blocked.
func (s *runningPool[T]) requireEnds(t *testing.T) {
	t.Helper()
	requireBecomesTrue(t, s.ended)
	require.NoError(t, s.err)
	require.Zero(t, s.Len())
}

// stop ends Run, and checks that it returns without an error.
func (s *runningPool[T]) stopPool(t *testing.T) {
	t.Helper()
	s.stop()
	s.requireEnds(t)
}

// succeed is a handler that always succeeds.
func succeed[T comparable](context.Context, T) error { return nil }

var errOnPurpose = errors.New("on purpose")

// failing returns a handler that fails some times with an error, and then
// succeeds.
func failing[T comparable](times int, err error) func(context.Context, T) error {
	return func(context.Context, T) error {
		if times--; times >= 0 {
			return err
		}
		return nil
	}
}

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

// panicOf returns the PanicError with which do panics.
func panicOf(do func()) (fault *worker.PanicError) {
	defer func() {
		r := recover()
		if fault, _ = r.(*worker.PanicError); fault == nil && r != nil {
			panic(r) // Run must panic with nothing else
		}
	}()
	do()
	return nil
}

// When the context ends, a handler that returns at once may be ahead of what
// tells its worker to leave. The worker takes nothing more even then.
func TestC49NothingIsTakenAfterTheEndOfTheContext(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		const workers = 2000
		q := newQueue[int](shards)
		q.AddBatch(numbers(2*workers), shardq.AddOptions{})
		var handled atomic.Int64
		s := startPool(t, q, worker.Options[int]{Workers: workers, Handle: func(ctx context.Context, _ int) error {
			handled.Add(1)
			<-ctx.Done()
			return nil
		}})
		synctest.Wait()
		s.stopPool(t)
		require.EqualValues(t, workers, handled.Load())
	})
}

// A hook that panics for each of very many items does not make the stack grow,
// and Run panics as for one. Here a drain dropped the items.
func TestC51HookThatPanicsForEachDroppedItem(t *testing.T) {
	for name, end := range map[string]func(){
		"panic": func() { panic("hook") }, "Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			n, reported := scaled(1_000_000, 100_000), 0
			q := newQueue[int](2)
			for item := range n {
				q.AddAfter(item, time.Hour)
			}
			var err error
			fault := panicOf(func() {
				err = runPool(nowait.Ended, t, q, worker.Options[int]{
					Drain: q.DrainWith(shardq.DrainOptions{}), Handle: succeed[int],
					OnLeftover: func(context.Context, worker.Failure[int]) { reported++; end() },
				})
			})
			require.Equal(t, n, reported)
			if name == "panic" {
				require.NotNil(t, fault)
				require.Equal(t, "hook", fault.Value)
				require.Contains(t, string(fault.Stack), "TestC51HookThatPanicsForEachDroppedItem")
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// A batch that lingers does not wait for more once any caller drains, whatever
// the drain accepts.
func TestC76LingerEndsWithTheDrainOfAnother(t *testing.T) {
	for _, retries := range []shardq.RetryPolicy{shardq.AcceptRetries, shardq.RefuseRetries} {
		synctest.Test(t, func(t *testing.T) {
			q, c, began := newQueue[int](2), newJoiner(2), time.Now()
			s := startPool(t, q, worker.Options[int]{BatchSize: 9, Linger: time.Hour,
				HandleBatch: func(context.Context, []int) []error { return nil }})
			values := startPool(t, c, worker.Options[coalesce.Entry[string, string]]{BatchSize: 9, Linger: time.Hour,
				HandleBatch: func(context.Context, []coalesce.Entry[string, string]) []error { return nil }})
			q.Add(1)
			require.NoError(t, c.Put("a", "1"))
			synctest.Wait()
			require.Equal(t, 2, q.Stats().Processing+c.Stats().Processing, "they linger")
			_, err := q.Drain(t.Context(), shardq.DrainOptions{Retries: retries})
			require.NoError(t, err)
			_, err = c.Drain(t.Context(), shardq.DrainOptions{Retries: retries})
			require.NoError(t, err)
			require.Zero(t, time.Since(began))
			s.requireEnds(t)
			values.requireEnds(t)
		})
	}
}

// An attempt that the end of the workers' context has ended is interrupted, and
// counts as a timeout of neither TimeoutOf nor Timeout. Interrupted, the log and
// the metrics say of it what the pool makes of it.
func TestC49C74InterruptedAsThePoolSays(t *testing.T) {
	wrapped := func(end error) error { return fmt.Errorf("ended: %w", end) }
	late := func(error) error { return context.DeadlineExceeded }
	for name, test := range map[string]struct {
		timeout       time.Duration
		outer, within time.Duration // the limits of two TimeoutOf
		err           func(end error) error
		result        stats.Result
		interrupted   bool
	}{
		"wrapped":          {0, 0, 0, wrapped, stats.Requeued, true},
		"its cause":        {0, 0, 0, late, stats.Requeued, true},
		"before Timeout":   {time.Hour, 0, 0, late, stats.Requeued, true},
		"before TimeoutOf": {0, time.Hour, time.Hour, late, stats.Requeued, true},
		"permanent":        {0, 0, 0, worker.Permanent, stats.Discarded, false},
		"panic":            {0, 0, 0, func(end error) error { return &worker.PanicError{Value: end} }, stats.Panicked, false},
		"requeue":          {0, 0, 0, func(end error) error { return errors.Join(worker.RequeueAfter(time.Hour), end) }, stats.Requeued, false},
		"outer TimeoutOf":  {0, time.Second, time.Hour, late, stats.TimedOut, false},
		"inner TimeoutOf":  {time.Hour, time.Hour, time.Second, late, stats.TimedOut, false},
		"Timeout":          {time.Second, 0, 0, late, stats.TimedOut, false},
		"its own end":      {time.Second, time.Second, 0, func(error) error { return context.Canceled }, stats.Requeued, true},
	} {
		var says error
		handle := func(ctx context.Context, _ string) error {
			<-ctx.Done()
			time.Sleep(2 * time.Second)
			return test.err(ctx.Err())
		}
		ask := func(next worker.Handler[string]) worker.Handler[string] {
			return func(ctx context.Context, item string) error {
				err := next(ctx, item)
				says = worker.Interrupted(ctx, err)
				return err
			}
		}
		forEachForm(t, ask(handle), func(t *testing.T, o worker.Options[string]) {
			q, text := shardq.MustNew(shardq.Options[string]{Metrics: true}), &strings.Builder{}
			if o.Timeout = test.timeout; o.Handle != nil {
				o.Handle, o.Use = handle, []worker.Middleware[string]{
					worker.Log[string](worker.LogOptions{Logger: slog.New(slog.NewTextHandler(text, nil))}),
					worker.TimeoutOf(func(string) time.Duration { return test.outer }), ask,
					worker.TimeoutOf(func(string) time.Duration { return test.within }),
				}
			} else if test.outer > 0 {
				return
			}
			s := startPool(t, q, o)
			q.Add("a")
			time.Sleep(2 * time.Second)
			s.stopWith(context.DeadlineExceeded)
			time.Sleep(time.Minute)
			s.requireEnds(t)
			require.Equal(t, test.interrupted, q.Len() == 1 && len(s.failed) == 0, "the pool says of %s", name)
			require.Equal(t, test.interrupted, says != nil, "Interrupted says of %s", name)
			require.False(t, test.interrupted && q.Stats().Metrics.Retries > 0, "%s counts as a retry (C33)", name)
			require.Equal(t, test.interrupted && o.Handle != nil, strings.Contains(text.String(), "was interrupted"), text)
			for result, h := range q.Stats().Metrics.Attempts.All() {
				require.EqualValues(t, map[bool]int{true: 1}[result == test.result], h.Count, "%s: %v", name, result)
			}
		})
	}
}

// What happened between the hand-out and the watch is reported. What happens to
// a later claim is not.
func TestC72NothingIsMissedOrTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](1)
		q.Add("a")
		first, _ := q.TryClaim()
		q.Cancel("a")
		q.Add("a")
		var told []error
		watch := func(c worker.Claim[string]) (stop func()) {
			return c.Owner().(worker.Watcher).WatchClaim(c.Token(), func(cause error) { told = append(told, cause) })
		}
		stopFirst := watch(first)
		require.Equal(t, []error{worker.ErrItemCanceled, worker.ErrAddedAgain}, told)
		told = nil
		require.NoError(t, first.Done())
		second, _ := q.TryClaim()
		q.Add("a")
		require.Empty(t, told, "the watch was of the first claim")
		stopSecond := watch(second)
		require.Equal(t, []error{worker.ErrAddedAgain}, told)
		stopFirst() // does not stop the second
		q.Cancel("a")
		require.Equal(t, []error{worker.ErrAddedAgain, worker.ErrItemCanceled}, told)
		stopSecond()
		q.Add("a")
		require.Len(t, told, 2)
		require.NoError(t, second.Done())
		watch(second)() // has ended
		require.Len(t, told, 2)
	})
}

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
		require.Len(t, some, 1)
		require.Equal(t, fmt.Sprint(failed[0]), fmt.Sprint(some[0]))
		require.Equal(t, fmt.Sprint(discarded[0]), fmt.Sprint(none[0]))
		failed, discarded = q.RecentFailures(-1)
		require.Empty(t, append(failed, discarded...))

		anything := shardq.MustNew(shardq.Options[any]{Group: func(item any) string { return fmt.Sprint(item) }})
		anything.Add(nil)
		// The method Error of this one panics.
		rest := startPool(t, anything, worker.Options[any]{MaxAttempts: 1, Handle: failing[any](1, (*runtime.TypeAssertionError)(nil))})
		synctest.Wait()
		rest.stopPool(t)
		_, none = anything.RecentFailures(1)
		require.Len(t, none, 1)
		require.Equal(t, [3]any{nil, "<nil>", "<nil>"}, [3]any{none[0].Item, none[0].Group, none[0].Error})
	})
}

// A first failure is forgotten with the failures: by Forget, and by a limiter
// whose histories expire.
func TestC50FirstFailureIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[int]{
			Shards:      1,
			RateLimiter: limiter.NewExponential[int](time.Second, time.Second, limiter.Options{ForgetAfter: time.Hour}),
		})
		s := startPool(t, q, worker.Options[int]{MaxElapsed: 3 * time.Hour, Attempts: true, Handle: func(ctx context.Context, _ int) error {
			if a, _ := worker.AttemptOf[int](ctx); a.Number() == 1 {
				require.Zero(t, a.FirstFailure())
			}
			return errOnPurpose
		}})
		withdraw := func(item int) { // a Cancel would forget the failure
			var at shard.Address
			engine.Of(q).Shards.SetAddress(&at, item)
			engine.Of(q).Shards.Withdraw(item, &at)
		}
		fail := func(want time.Time) {
			s.failed = nil
			q.Add(1)
			synctest.Wait()
			require.Len(t, s.failed, 1)
			require.Equal(t, want, s.failed[0].FirstFailure)
			require.False(t, s.failed[0].Final)
			time.Sleep(time.Second / 2)
			withdraw(1)
		}
		first := time.Now()
		fail(first)
		fail(first)
		q.Forget(1)
		fail(time.Now())
		time.Sleep(4 * time.Hour) // expired
		fail(time.Now())
		time.Sleep(4 * time.Hour)
		q.AddRateLimited(1) // counts anew
		fail(time.Now())

		kept := 0 // of items that failed once
		for item := range 500 {
			q.Add(item)
			synctest.Wait()
			withdraw(item)
			time.Sleep(4 * time.Hour)
		}
		for item := range 500 {
			if first, _ := engine.Of(q).Owner.FailingSince(item); !first.IsZero() {
				kept++
			}
		}
		require.Less(t, kept, 200)
		s.stopPool(t)
	})
}

// A discard closes the window of its item before OnDiscard, which may add it.
func TestC80DiscardClosesTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, hour := newQueue[string](1), shardq.AddOptions{NotAgainWithin: time.Hour}
		runs := 0
		s := startPool(t, q, worker.Options[string]{
			MaxAttempts: 2,
			Handle: func(context.Context, string) error {
				runs++
				require.Equal(t, shardq.ErrNotAgain, q.TryAdd("a", hour))
				return errOnPurpose
			},
			OnDiscard: func(context.Context, worker.Failure[string]) {
				if runs == 2 {
					require.NoError(t, q.TryAdd("a", hour))
				}
			},
		})
		q.AddWith("a", hour)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 4, runs)
		s.stopPool(t)
	})
}

// startPool runs workers with these options, and those that all tests share.
func startPool[T comparable](t *testing.T, source worker.Source[T], o worker.Options[T]) *runningPool[T] {
	t.Helper()
	s := &runningPool[T]{}
	o.Workers = max(1, o.Workers)
	if o.OnError == nil {
		o.OnError = func(_ context.Context, f worker.Failure[T]) { s.note(&s.failed, f) }
	}
	if o.OnDiscard == nil {
		o.OnDiscard = func(_ context.Context, f worker.Failure[T]) { s.note(&s.discarded, f) }
	}
	if o.OnLeftover == nil {
		o.OnLeftover = func(_ context.Context, f worker.Failure[T]) { s.note(&s.leftover, f) }
	}
	w, err := worker.New(source, o)
	require.NoError(t, err)
	s.Pool = w
	ctx, cancel := context.WithCancelCause(t.Context())
	s.stop, s.stopWith = func() { cancel(nil) }, cancel
	t.Cleanup(s.stop)
	s.ended = returned(func() { s.err = w.Run(ctx) })
	return s
}

func onlyBucket() limiter.Limiter[string] { return limiter.NewBucket[string](rate.NewLimiter(1, 1)) }

// New lists every fault at once.
func TestC49FaultsOfThePool(t *testing.T) {
	one, all := succeed[string], func(context.Context, []string) []error { return nil }
	none := func(worker.Handler[string]) worker.Handler[string] { return nil }
	q, c := newQueue[string](1), newJoiner(1, func(o *coalesce.Options[string, string]) { o.Queue.RateLimiter = onlyBucket() })
	bucket := shardq.MustNew(shardq.Options[string]{RateLimiter: limiter.NewWithMaxWait(limiter.NewMaxOf(onlyBucket()), time.Hour)})
	for _, test := range []struct {
		source worker.Source[string]
		o      worker.Options[string]
		faults string
	}{
		{nil, worker.Options[string]{BatchSize: 3, Timeout: -1, MaxAttempts: -1, DrainTimeout: time.Second, Linger: time.Second},
			"without a source|Workers is 0|both nil|BatchSize is 3|Timeout is -1ns|MaxAttempts is -1|DrainTimeout is 1s: want 0 without Drain|Linger is 1s"},
		{q, worker.Options[string]{Workers: 1, Handle: one, HandleBatch: all, MaxElapsed: -1, DrainTimeout: -1, AbandonAfter: -1, Linger: -1},
			"both set|BatchSize is 0|MaxElapsed is -1ns|DrainTimeout is -1ns|AbandonAfter is -1ns|Linger is -1ns"},
		{q, worker.Options[string]{Workers: 1, Handle: one, BatchWeight: 3, AbandonAfter: 1, Drain: q.DrainWith(shardq.DrainOptions{})},
			"BatchWeight is 3: want 0 without|BatchWeight is 3: want more than 0 with Weigh|AbandonAfter is 1ns: want DrainTimeout"},
		{q, worker.Options[string]{Workers: 1, HandleBatch: all, BatchSize: 1, BatchWeight: -1}, "BatchWeight is -1"},
		{q, worker.Options[string]{Workers: 1, HandleBatch: all, BatchSize: 1, Weigh: func(string) int { return 1 }}, "BatchWeight is 0"},
		{bucket, worker.Options[string]{Workers: 1, Handle: one, MaxElapsed: 1, MaxAttempts: -1}, "MaxAttempts is -1|a limiter that counts"},
		{q, worker.Options[string]{Workers: 1, HandleBatch: all, BatchSize: 1<<20 + 1, Use: []worker.Middleware[string]{none},
			Attempts: true, CancelIfAddedAgain: true, CancelIfCanceled: true},
			"BatchSize is 1048577|Use has 1|Attempts is|CancelIfAddedAgain is|CancelIfCanceled is"},
		{q, worker.Options[string]{Workers: 1, Handle: one, Use: []worker.Middleware[string]{nil, none, worker.TimeoutOf[string](nil)}},
			"Use[0] is nil|Use[1] returned nil|Use[2] is nil, or TimeoutOf(nil)"},
		{(*shardq.Queue[string])(nil), worker.Options[string]{Workers: 1, Handle: one}, "without a source"},
		{struct{ *shardq.Queue[string] }{}, worker.Options[string]{Workers: 1, Handle: one}, "whose Name panics"},
	} {
		_, err := worker.New(test.source, test.o)
		faults := strings.Split(test.faults, "|")
		for _, fault := range faults {
			require.ErrorContains(t, err, fault)
		}
		require.Len(t, strings.Split(err.Error(), "\n"), len(faults), err)
	}
	_, err := worker.New(bucket, worker.Options[string]{Workers: 1, Handle: one})
	require.NoError(t, err, "without a limit of attempts")
	_, err = worker.New(c, worker.Options[coalesce.Entry[string, string]]{Workers: 1, MaxAttempts: 1, Handle: succeed[coalesce.Entry[string, string]]})
	require.ErrorContains(t, err, "a limiter that counts")
	require.True(t, limiter.Counts(limiter.NewMaxOf(onlyBucket(), limiter.DefaultItemBased[string]())))
	require.Panics(t, func() { q.DrainWith(shardq.DrainOptions{Delayed: 9}) })
}

// How long an item has waited is unknown without Ages, and not 0. Either of
// Attempts and Use is enough.
func TestC71Waited(t *testing.T) {
	for _, ages := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := shardq.MustNew(shardq.Options[int]{Ages: ages})
			c := newJoiner(1, func(o *coalesce.Options[string, string]) { o.Queue.Ages = ages })
			q.Add(1)
			require.NoError(t, c.Put("a", "1"))
			time.Sleep(time.Minute)
			q.ShutDown()
			c.ShutDown()
			check := func(waited time.Duration, ok bool) {
				require.Equal(t, ages, ok)
				require.Equal(t, ages, waited > 59*time.Second)
			}
			s := startPool(t, q, worker.Options[int]{Attempts: true, Handle: func(ctx context.Context, _ int) error {
				a, _ := worker.AttemptOf[int](ctx)
				check(a.Waited())
				return nil
			}})
			s.requireEnds(t)
			require.NoError(t, c.Run(t.Context(), 1, func(ctx context.Context, _, _ string) error {
				a, _ := worker.AttemptOf[text](ctx)
				check(a.Waited())
				return nil
			}, func(next worker.Handler[text]) worker.Handler[text] { return next }))
		})
	}
}

// What a handler does not ask for costs nothing, and an attempt costs one
// allocation. Metrics cost none.
func TestC71AllocationsOfAnAttempt(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, test := range []struct{ attempts, metrics bool }{{false, false}, {false, true}, {true, false}} {
		q := shardq.MustNew(shardq.Options[int]{Shards: 1, Metrics: test.metrics})
		var processed sync.WaitGroup
		s := startPool(t, q, worker.Options[int]{
			Attempts: test.attempts, Handle: func(context.Context, int) error { processed.Done(); return nil },
		})
		items := numbers(1000)
		got := testing.AllocsPerRun(10, func() {
			processed.Add(len(items))
			q.AddBatch(items, shardq.AddOptions{})
			processed.Wait()
		}) / float64(len(items))
		most := 0.1 // a burst may make the queue grow
		if test.attempts {
			most = 1.1
		}
		require.Less(t, got, most)
		s.stop()
		for !s.ended() {
			runtime.Gosched()
		}
	}
}

// The workers do not refer to an item after its Done.
func TestC49NothingRefersToAnItemAfterDone(t *testing.T) {
	for _, o := range []worker.Options[any]{
		{Handle: succeed[any]}, {HandleBatch: func(context.Context, []any) []error { return nil }, BatchSize: 4},
		{Handle: succeed[any], AbandonAfter: time.Hour},
	} {
		q := newQueue[any](1)
		s := startPool(t, q, o)
		collected := make(chan int, 3)
		func() {
			for i := range 3 {
				item := &payload{byte(i)}
				runtime.AddCleanup(item, func(i int) { collected <- i }, i)
				q.Add(item)
			}
		}()
		for q.Stats().Held > 0 || len(collected) < 3 {
			runtime.GC()
		}
		s.stop()
		for !s.ended() {
			runtime.Gosched()
		}
	}
}

// With metrics, a Snapshot says which worker has an item, and the profile
// labels have the same number, whatever labels a handler has set. A caller of
// Get is no worker. A worker that leaves has no slot any more.
func TestC43WorkerOfAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Name: "mail", Metrics: true})
		q.Add("mine")
		takeItem(t, q, "mine")
		finish := make(chan struct{})
		s := startPool(t, q, worker.Options[string]{Workers: 3, Labels: true, Handle: func(ctx context.Context, item string) error {
			name, _ := pprof.Label(ctx, "queue")
			require.Equal(t, "mail", name)
			pprof.SetGoroutineLabels(context.Background())
			if item == "first" {
				return worker.Permanent(errOnPurpose)
			}
			<-finish
			return nil
		}})
		q.AddBatch([]string{"first", "first", "first"}, shardq.AddOptions{})
		synctest.Wait()
		q.AddBatch([]string{"a", "b", "c"}, shardq.AddOptions{})
		synctest.Wait()
		var workers []int
		for _, row := range q.Snapshot(100).Processing {
			workers = append(workers, row.Worker)
		}
		slices.Sort(workers)
		require.Equal(t, []int{0, 1, 2, 3}, workers)
		close(finish)
		synctest.Wait()
		s.Resize(1)
		synctest.Wait()
		require.Equal(t, 1, q.Stats().Workers)
		s.stopPool(t)
		require.Zero(t, q.Stats().Workers)
	})
}

// A handler may end its claim. Whatever it returns then, the item runs again,
// and is not discarded.
func TestC71HandlerEndsItsClaim(t *testing.T) {
	for _, err := range []error{errOnPurpose, worker.Permanent(errOnPurpose), worker.RequeueAfter(time.Minute)} {
		for _, end := range []func(worker.Claim[string]) error{
			worker.Claim[string].Retry, worker.Claim[string].Release,
			func(c worker.Claim[string]) error { return c.RequeueAfter(time.Second) },
		} {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue[string](1)
				runs := 0
				s := startPool(t, q, worker.Options[string]{Attempts: true, MaxAttempts: 2, Handle: func(ctx context.Context, _ string) error {
					if runs++; runs > 1 {
						return nil
					}
					a, _ := worker.AttemptOf[string](ctx)
					require.NoError(t, end(a.Claim))
					return err
				}})
				q.Add("a")
				time.Sleep(time.Hour)
				s.stopPool(t)
				require.Equal(t, 2, runs)
				require.Empty(t, s.discarded)
				_, requeue := worker.RequeueDelay(err)
				require.Equal(t, !requeue, len(s.failed) == 1)
			})
		}
	}
}

// A pool reads an error as these functions do.
func TestErrorsOfHandlers(t *testing.T) {
	again, permanent := worker.RequeueAfter(time.Minute), worker.Permanent(errOnPurpose)
	for _, test := range []struct {
		err                    error
		isRequeue, isPermanent bool
	}{
		{nil, false, false}, {errOnPurpose, false, false}, {worker.Permanent(nil), false, false},
		{errors.Join(errOnPurpose, again), true, false}, {fmt.Errorf("never: %w", permanent), false, true},
		{errors.Join(again, permanent), false, true}, {worker.Permanent(again), false, true},
	} {
		_, isRequeue := worker.RequeueDelay(test.err)
		require.Equal(t, test.isRequeue, isRequeue, "%v", test.err)
		require.Equal(t, test.isPermanent, worker.IsPermanent(test.err), "%v", test.err)
	}
	require.EqualError(t, again, "worker: requeue after 1m0s")
	require.NoError(t, worker.RetryAfter(1, nil))
	require.ErrorIs(t, worker.RetryAfter(1, errOnPurpose), errOnPurpose)
	require.Equal(t, []error{nil, errOnPurpose}, worker.FailFrom(2, 1, errOnPurpose))
	require.Equal(t, []error{nil, nil}, worker.FailFrom(2, 2, errOnPurpose))
	require.Equal(t, []error{errOnPurpose, errOnPurpose}, worker.FailAll(2, errOnPurpose))
	require.Equal(t, []error{nil, errOnPurpose}, worker.FailSome(2, map[int]error{1: errOnPurpose}))
	require.Nil(t, worker.FailAll(2, nil))
	require.Nil(t, worker.FailSome(2, nil))
	for _, wrong := range []func(){
		func() { worker.FailAll(-1, nil) }, func() { worker.FailFrom(3, 4, nil) }, func() { worker.FailFrom(3, -1, nil) },
		func() { worker.FailSome(-2, nil) }, func() { worker.FailSome(2, map[int]error{2: errOnPurpose}) },
	} {
		require.Panics(t, wrong)
	}
}

// Return calls Refused before the claim ends, and only if the item cannot run
// again. A drain waits for it.
func TestC60Refused(t *testing.T) {
	for _, how := range []worker.Return{{}, {Reason: worker.ReturnRequeue, After: time.Second}, {Reason: worker.ReturnRelease}} {
		synctest.Test(t, func(t *testing.T) {
			q, c := newQueue[string](1), newJoiner(1)
			q.AddRateLimited("a")
			q.Cancel("a")
			q.Add("a")
			require.NoError(t, c.Put("a", "1"))
			item, _ := q.TryClaim()
			value, err := c.Claim(t.Context())
			require.NoError(t, err)
			drained := returned(q.ShutDownWithDrain)
			c.ShutDown()
			synctest.Wait()
			refused := 0
			how.Refused = func() {
				refused++
				require.ErrorIs(t, item.Done(), worker.ErrClaimEnded, "the Return has it")
				if synctest.Wait(); refused == 1 {
					require.False(t, drained(), "the claim goes on")
				}
			}
			for _, end := range []func(worker.Return) error{item.Return, value.Return} {
				require.ErrorIs(t, end(how), shardq.ErrShutDown)
			}
			requireBecomesTrue(t, drained)
			require.Equal(t, 2, refused)
			require.Zero(t, q.NumRequeues("a")+q.Stats().Held+c.Stats().Held+int(q.Stats().Dropped))
		})
	}
	var q *shardq.Queue[string]
	q = shardq.MustNew(shardq.Options[string]{RateLimiter: hookedLimiter[string]{limiter.NewExponential[string](1, 1), func(string) { q.ShutDown() }}})
	q.Add("a")
	claim, _ := q.TryClaim()
	require.ErrorIs(t, claim.Return(worker.Return{Refused: func() {}}), shardq.ErrShutDown)
	require.Zero(t, q.Stats().Dropped)
}

// The context of the handlers ends when DrainTimeout has passed, also while
// Drain still lists what is left.
func TestC49HandlersEndBeforeDrainReturns(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 0} {
		synctest.Test(t, func(t *testing.T) {
			q, ended := shardq.MustNew(shardq.Options[string]{}), make(chan struct{})
			q.Add("a")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := runPool(ctx, t, q, worker.Options[string]{
				Handle: func(ctx context.Context, _ string) error {
					<-ctx.Done()
					close(ended)
					return nil
				},
				Drain: func(ctx context.Context) ([]string, error) {
					if timeout == 0 {
						return []string{"dropped"}, nil
					}
					<-ctx.Done()
					<-ended
					return nil, ctx.Err()
				},
				DrainTimeout: timeout,
				OnLeftover:   func(context.Context, worker.Failure[string]) { <-ended },
			})
			require.Equal(t, timeout > 0, errors.Is(err, context.DeadlineExceeded))
		})
	}
}

// After another caller's ShutDown, workers leave when nothing is ready. A drain does not
// wait for them then, when another consumer gives an item back.
func TestC49DrainWithoutWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, handled := shardq.MustNew(shardq.Options[string]{}), make(chan struct{})
		q.Add("theirs")
		theirs, err := q.Claim(t.Context())
		require.NoError(t, err)
		q.Add("ours")
		s := startPool(t, q, worker.Options[string]{
			Workers: 2, Handle: func(context.Context, string) error { <-handled; return nil },
			Drain: q.DrainWith(shardq.DrainOptions{}),
		})
		synctest.Wait()
		q.ShutDown()
		synctest.Wait()
		s.stop()
		synctest.Wait()
		require.False(t, s.ended(), "a worker is left")
		close(handled)
		requireBecomesTrue(t, s.ended)
		require.NoError(t, theirs.Release())
		early, _ := errors.AsType[*shardq.DrainError[string]](s.err)
		require.Equal(t, "theirs", early.Left()[0].Item)
	})
}

// A pool's own drain ends a linger, whatever the source is. The error of a claim
// and that of the drain are both returned.
func TestC76LingerEndsWithTheOwnDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, lost := time.Now(), errors.New("no connection")
		source := strict{newShelf("a"), func() error { return lost }}
		s := startPool(t, source, worker.Options[string]{
			BatchSize: 2, Linger: time.Hour, HandleBatch: func(context.Context, []string) []error { return nil },
			Drain: func(ctx context.Context) ([]string, error) { <-ctx.Done(); return nil, errOnPurpose },
		})
		synctest.Wait()
		s.stop()
		requireBecomesTrue(t, s.ended)
		require.Zero(t, time.Since(began))
		require.ErrorIs(t, s.err, lost)
		require.ErrorIs(t, s.err, errOnPurpose)
	})
}

// Run of a queue that has ended returns ErrShutDown, unless there is an item left,
// or its context has ended as well.
func TestC49EndedQueue(t *testing.T) {
	for _, items := range [][]string{nil, {"a"}, {"paused"}} {
		forEachForm(t, succeed[string], func(t *testing.T, o worker.Options[string]) {
			q, want := newQueue[string](1), map[int]error{0: shardq.ErrShutDown}[len(items)]
			c := newJoiner(1)
			q.AddBatch(items, shardq.AddOptions{})
			for _, item := range items {
				require.NoError(t, c.Put(item, ""))
				if item == "paused" {
					q.Pause()
					c.Pause()
				}
			}
			q.ShutDown()
			c.ShutDown()
			o.Workers, o.Drain = 2, q.DrainWith(shardq.DrainOptions{})
			require.Equal(t, want, runPool(t.Context(), t, q, o))
			require.Equal(t, want, c.Run(t.Context(), 1, func(context.Context, string, string) error { return nil }))
			require.NoError(t, q.Run(nowait.Ended, 1, succeed[string]))
		})
	}
}

// A handler's own item takes room, so that a handler would wait for itself. The
// handler of another queue waits.
func TestC40HandlerDoesNotWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[int]{Capacity: 1})
		other := shardq.MustNew(shardq.Options[int]{Capacity: 1})
		values := coalesce.MustNew(coalesce.Options[int, int]{Capacity: 1, Merge: func(a, b int) int { return a + b }})
		other.Add(1)
		require.NoError(t, values.Put(1, 1))
		handle := func(ctx context.Context, item int) error {
			type key struct{}
			derived, release := context.WithTimeout(context.WithValue(ctx, key{}, 1), time.Hour)
			defer release()
			if item == 0 {
				require.NoError(t, q.AddContext(derived, 10, shardq.AddOptions{RateLimited: true}))
				require.Equal(t, 1, q.NumRequeues(10), "the limiter is asked once")
				require.NoError(t, q.AddContext(derived, 11, shardq.AddOptions{NotAgainWithin: time.Hour}))
				require.Equal(t, shardq.ErrNotAgain, q.AddContext(derived, 11, shardq.AddOptions{NotAgainWithin: time.Hour}))
				require.Equal(t, shardq.ErrFull, q.TryAdd(12, shardq.AddOptions{}), "it waits for nothing")
				require.Equal(t, context.DeadlineExceeded, other.AddContext(derived, 2, shardq.AddOptions{}))
				q.ShutDown()
			}
			return nil
		}
		q.Add(0)
		require.NoError(t, q.Run(t.Context(), 1, handle))
		require.EqualValues(t, 2, q.Stats().OverCapacity)

		require.NoError(t, values.Run(t.Context(), 1, func(ctx context.Context, key, _ int) error {
			if key == 1 {
				require.NoError(t, values.PutContext(ctx, 2, 1, coalesce.PutOptions{}))
				require.NoError(t, values.PutContext(ctx, 3, 1, coalesce.PutOptions{}))
				values.ShutDown()
			}
			return nil
		}))
		require.EqualValues(t, 1, values.Stats().Values.OverCapacity)
	})
}

// joinedContext has the values of two contexts.
type joinedContext struct {
	context.Context
	other context.Context
}

func (j joinedContext) Value(key any) any {
	if value := j.Context.Value(key); value != nil {
		return value
	}
	return j.other.Value(key)
}

// A context has an attempt of each type of items, also that of a pool around.
func TestC71AttemptsOfSeveralTypes(t *testing.T) {
	outer, inner, ints, texts := newQueue[int](1), newQueue[string](1), 0, 0
	check := func(ctx context.Context) {
		a, ok := worker.AttemptOf[int](ctx)
		require.Equal(t, []any{1, true}, []any{a.Claim.Item, ok})
		b, ok := worker.AttemptOf[string](ctx)
		require.Equal(t, []any{"a", true}, []any{b.Claim.Item, ok})
		none, ok := worker.AttemptOf[bool](ctx)
		require.False(t, ok)
		require.Equal(t, []any{"", 0}, []any{none.Queue(), none.Number()})
		texts++
	}
	outer.Add(1)
	outer.ShutDown()
	inner.Add("a")
	inner.ShutDown()
	with := worker.Options[int]{Workers: 1, Attempts: true, Handle: func(around context.Context, _ int) error {
		ints++
		return inner.Run(around, 1, func(ctx context.Context, _ string) error {
			check(ctx)
			without := context.WithoutCancel(ctx)
			check(joinedContext{without, around})
			check(joinedContext{around, without})
			return nil
		}, func(next worker.Handler[string]) worker.Handler[string] { return next })
	}}
	require.NoError(t, runPool(t.Context(), t, outer, with))
	require.Equal(t, [2]int{1, 3}, [2]int{ints, texts})
}
