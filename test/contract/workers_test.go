package contract

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// A runningPool is a Pool whose Run has not returned, with the calls of its
// hooks.
type runningPool[T comparable] struct {
	*worker.Pool[T]
	queue *shardq.Queue[T]
	stop  context.CancelFunc
	ended func() bool
	err   error // of Run, once it has ended

	mu                sync.Mutex
	failed, discarded []worker.Failure[T]
}

// startPool runs workers with these options, and those that all tests share.
func startPool[T comparable](t *testing.T, q *shardq.Queue[T], o worker.Options[T]) *runningPool[T] {
	t.Helper()
	s := startPoolOf(t, o, func(o worker.Options[T]) (*worker.Pool[T], error) { return worker.New(q, o) })
	s.queue = q
	return s
}

// startPoolOf is startPool for the pool that make returns.
func startPoolOf[T comparable](t *testing.T, o worker.Options[T],
	make func(worker.Options[T]) (*worker.Pool[T], error)) *runningPool[T] {
	t.Helper()
	s := &runningPool[T]{}
	o.Workers = max(1, o.Workers)
	if o.OnError == nil {
		o.OnError = func(_ context.Context, f worker.Failure[T]) { s.note(&s.failed, f) }
	}
	if o.OnDiscard == nil {
		o.OnDiscard = func(_ context.Context, f worker.Failure[T]) { s.note(&s.discarded, f) }
	}
	w, err := make(o)
	require.NoError(t, err)
	s.Pool = w
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	t.Cleanup(cancel)
	s.ended = returned(func() { s.err = w.Run(ctx) })
	return s
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

func TestC49EveryItemIsProcessed(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddRateLimited(7) // has a history
		q.AddBatch(numbers(100), shardq.AddOptions{})
		var mu sync.Mutex
		var seen []int
		s := startPool(t, q, worker.Options[int]{Workers: 4, Handle: func(ctx context.Context, item int) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, item)
			return ctx.Err()
		}})
		synctest.Wait()
		require.Equal(t, 4, s.Len())
		requireExactly(t, numbers(100), seen)
		require.Zero(t, q.NumRequeues(7), "a success is the end of the history")
		requireCounts(t, q, 0, 1, 0) // 7 is still delayed
		q.Add(200)
		synctest.Wait()
		require.Equal(t, 200, seen[100])
		require.Empty(t, s.failed)
		s.stopPool(t)
	})
}

// Run is the simple form.
func TestC49RunOfAQueue(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddBatch(numbers(10), shardq.AddOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		total := 0
		ended := returned(func() {
			require.NoError(t, q.Run(ctx, 1, func(_ context.Context, item int) error {
				total += item
				return nil
			}))
		})
		requireStillFalse(t, ended, "the queue is open")
		require.Equal(t, 45, total)
		cancel()
		requireBecomesTrue(t, ended)
		require.False(t, q.ShuttingDown())
		require.ErrorContains(t, q.Run(t.Context(), 0, succeed[int]), "Options.Workers is 0")
		require.ErrorContains(t, q.Run(t.Context(), 1, nil), "Handle and HandleBatch are both nil")
	})
}

// When the context ends, workers finish their items, and leave the rest.
func TestC49EndOfTheContext(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddBatch(numbers(10), shardq.AddOptions{})
		finish := make(chan struct{})
		var ends []error
		s := startPool(t, q, worker.Options[int]{Workers: 1, Handle: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			ends = append(ends, ctx.Err())
			<-finish
			return nil
		}})
		synctest.Wait()
		s.stop()
		requireStillFalse(t, s.ended, "a worker has an item")
		close(finish)
		s.requireEnds(t)
		require.Equal(t, []error{context.Canceled}, ends)
		requireCounts(t, q, 9, 0, 0)
		require.False(t, q.ShuttingDown())
	})
}

// drainOf returns a drain of the queue, or nil.
func drainOf[T comparable](q *shardq.Queue[T], drains bool) func(context.Context) ([]T, error) {
	if !drains {
		return nil
	}
	return q.DrainWith(shardq.DrainOptions{})
}

// If another call shuts the queue down, the workers process what is left.
func TestC49ShutDownOfTheQueue(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for _, drains := range []bool{false, true} {
			q := newQueue[int](shards)
			gate, processed := make(chan struct{}), 0
			s := startPool(t, q, worker.Options[int]{Drain: drainOf(q, drains), Handle: func(_ context.Context, item int) error {
				<-gate
				processed++
				return nil
			}})
			q.AddBatch(numbers(10), shardq.AddOptions{})
			synctest.Wait()
			q.ShutDown()
			requireStillFalse(t, s.ended, "items are ready")
			close(gate)
			s.requireEnds(t)
			require.Equal(t, 10, processed)
		}
	})
}

func TestC49RunIsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPool(t, newQueue[int](2), worker.Options[int]{Handle: succeed[int]})
		synctest.Wait()
		require.ErrorContains(t, s.Run(t.Context()), "was called while it runs")
		require.Equal(t, 1, s.Len())
		s.stopPool(t)
		require.ErrorContains(t, s.Run(t.Context()), "has ended")
		s.Resize(3)
		require.Zero(t, s.Len())
	})
}

func TestC49NilContextPanicsInTheCaller(t *testing.T) {
	q := newQueue[int](2)
	var none context.Context
	require.Panics(t, func() { _ = q.Run(none, 1, succeed[int]) })
}

func TestC49FaultsOfTheOptions(t *testing.T) {
	_, err := worker.New[int](nil, worker.Options[int]{
		BatchSize: 3, Timeout: -1, MaxAttempts: -1, DrainTimeout: time.Second,
	})
	for _, text := range []string{
		"without a source", "Workers is 0", "both nil", "BatchSize is 3", "Timeout is -1ns", "MaxAttempts is -1",
		"DrainTimeout is 1s: want 0 without Drain",
	} {
		require.ErrorContains(t, err, text)
	}
	all := func(context.Context, []int) []error { return nil }
	_, err = worker.New(newQueue[int](1), worker.Options[int]{
		Workers: 1, Handle: succeed[int], HandleBatch: all, DrainTimeout: -1,
	})
	for _, text := range []string{
		"both set", "BatchSize is 0", "DrainTimeout is -1ns",
	} {
		require.ErrorContains(t, err, text)
	}
	_, err = worker.New(newQueue[string](1), worker.Options[string]{
		Workers: 1, HandleBatch: func(context.Context, []string) []error { return nil }, BatchSize: 1<<20 + 1,
	})
	require.ErrorContains(t, err, "BatchSize is 1048577: want 1 to 1048576")
}

// DrainWith panics for the options for which Drain does, before there is
// anything to drain.
func TestC49DrainWithAnUnknownPolicy(t *testing.T) {
	q := newQueue[int](2)
	require.PanicsWithValue(t, "shardq: DrainOptions.Delayed is 9: want DropDelayed, RunDelayed or AwaitDelayed",
		func() { q.DrainWith(shardq.DrainOptions{Delayed: 9}) })
}

func TestC49ManyWorkersOfOneQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		first := startPool(t, q, worker.Options[int]{Handle: succeed[int]})
		second := startPool(t, q, worker.Options[int]{Handle: succeed[int]})
		first.stopPool(t)
		q.Add(1)
		synctest.Wait()
		requireCounts(t, q, 0, 0, 0)
		second.stopPool(t)
	})
}

// With a drain, handlers go on when the context ends, and ready items are
// processed.
func TestC49DrainAtTheEnd(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		gate := make(chan struct{})
		var seen []int
		s := startPool(t, q, worker.Options[int]{Drain: q.DrainWith(shardq.DrainOptions{}), Handle: func(ctx context.Context, item int) error {
			<-gate
			seen = append(seen, item)
			return ctx.Err()
		}})
		q.AddBatch(numbers(10), shardq.AddOptions{})
		q.AddAfter(100, time.Hour)
		synctest.Wait()
		s.stop()
		requireStillFalse(t, s.ended, "items are ready")
		q.Add(1000) // too late
		close(gate)
		s.requireEnds(t)
		requireExactly(t, numbers(10), seen)
		require.Empty(t, s.failed, "the context of the handlers has ended")
		requireCounts(t, q, 0, 0, 0)
		require.True(t, q.ShuttingDown())

		require.Len(t, s.discarded, 1, "the delayed item is reported")
		require.Equal(t, 100, s.discarded[0].Item)
		require.Zero(t, s.discarded[0].Attempt)
		require.ErrorIs(t, s.discarded[0].Err, shardq.ErrShutDown)
		require.ErrorContains(t, s.discarded[0].Err, "dropped while it was delayed")
	})
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

// A drain that takes too long ends early: the handlers' contexts end, and the
// error lists what is left when the last worker has left.
func TestC49DrainTimeout(t *testing.T) {
	for _, retries := range []shardq.RetryPolicy{shardq.DefaultRetries, shardq.RefuseRetries} {
		testDrainTimeout(t, retries)
	}
}

func testDrainTimeout(t *testing.T, retries shardq.RetryPolicy) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		s := startPool(t, q, worker.Options[int]{
			Drain: q.DrainWith(shardq.DrainOptions{Retries: retries}), DrainTimeout: time.Minute,
			Handle: func(ctx context.Context, _ int) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
		q.AddBatch(numbers(3), shardq.AddOptions{})
		synctest.Wait()
		begin := time.Now()
		s.stop()
		requireStillFalse(t, s.ended, "an item is in processing")
		time.Sleep(time.Minute)
		requireBecomesTrue(t, s.ended)
		require.Equal(t, time.Minute, time.Since(begin))
		left, is := errors.AsType[*shardq.DrainError[int]](s.err)
		require.True(t, is, "%v", s.err)
		require.ErrorIs(t, s.err, context.DeadlineExceeded)
		requireCounts(t, q, left.Ready, left.Delayed, left.Processing) // still there
		if retries == shardq.RefuseRetries {
			require.Equal(t, [3]int{0, 2, 0}, [3]int{left.Processing, left.Ready, left.Delayed})
			require.Len(t, s.discarded, 1, "the one in processing cannot be tried again")
			require.ErrorIs(t, s.discarded[0].Err, shardq.ErrShutDown)
			require.ErrorIs(t, s.discarded[0].Err, context.Canceled)
		} else {
			require.Equal(t, [3]int{0, 2, 1}, [3]int{left.Processing, left.Ready, left.Delayed})
			require.Empty(t, s.discarded, "it is left")
		}
		all := itemsOf(left.Left())
		for _, f := range s.discarded {
			all = append(all, f.Item)
		}
		require.ElementsMatch(t, numbers(3), all, "each is reported once")
	})
}

// Awaited items are processed at their deadlines.
func TestC49DrainAwaits(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		var seen []int
		s := startPool(t, q, worker.Options[int]{
			Workers: 2, Drain: q.DrainWith(shardq.DrainOptions{Delayed: shardq.AwaitDelayed}),
			Handle: func(_ context.Context, item int) error {
				seen = append(seen, item)
				return nil
			},
		})
		q.AddAfter(1, time.Minute)
		synctest.Wait()
		s.stop()
		requireStillFalse(t, s.ended, "an item is delayed")
		time.Sleep(time.Minute)
		s.requireEnds(t)
		require.Equal(t, []int{1}, seen)
	})
}

// A drain works with a context that has ended already.
func TestC49DrainAfterAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		q.AddBatch(numbers(10), shardq.AddOptions{})
		w, err := worker.New(q, worker.Options[int]{Workers: 2, Handle: succeed[int], Drain: q.DrainWith(shardq.DrainOptions{})})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, w.Run(ctx))
		require.EqualValues(t, 10, q.Stats().Added)
		requireCounts(t, q, 0, 0, 0)

		q = newQueue[int](2)
		q.Add(1)
		require.NoError(t, q.Run(ctx, 2, succeed[int]))
		requireCounts(t, q, 1, 0, 0)
	})
}

func TestC49NothingIsLeftRunning(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	q := newQueue[int](16)
	q.AddBatch(numbers(100), shardq.AddOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := worker.New(q, worker.Options[int]{
		Workers: 8, MaxAttempts: 2, Drain: q.DrainWith(shardq.DrainOptions{}), DrainTimeout: time.Hour, Timeout: time.Hour,
		Handle: func(_ context.Context, item int) error {
			switch item {
			case 10:
				runtime.Goexit()
			case 20:
				cancel()
			}
			return nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, w.Run(ctx))
}

// The simple form allocates nothing per ready item. A worker that parks may
// allocate.
func TestC49NoAllocationPerItem(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	const items = 1000
	q := newQueue[int](1)
	ctx, cancel := context.WithCancel(t.Context())
	done, left := make(chan struct{}), items
	ended := make(chan error)
	go func() {
		ended <- q.Run(ctx, 1, func(context.Context, int) error {
			if left--; left == 0 {
				left = items
				done <- struct{}{}
			}
			return nil
		})
	}()
	batch := numbers(items)
	allocations := testing.AllocsPerRun(20, func() {
		q.AddBatch(batch, shardq.AddOptions{})
		<-done
	})
	cancel()
	require.NoError(t, <-ended)
	require.Less(t, allocations, items/10.0, "a burst may make the queue grow")
}

// Handlers have the values of Run's context, and Labels adds the queue's name.
func TestC49ContextOfTheHandler(t *testing.T) {
	type key struct{}
	for _, drains := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := shardq.MustNew(shardq.Options[int]{Name: "mail"})
			q.Add(1)
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
			w, err := worker.New(q, worker.Options[int]{
				Workers: 1, Labels: true, Drain: drainOf(q, drains),
				Handle: func(ctx context.Context, _ int) error {
					defer cancel()
					require.Equal(t, "value", ctx.Value(key{}))
					require.Equal(t, "mail", labelOf(ctx))
					require.Contains(t, goroutinesWithLabels(t), `"queue":"mail"`)
					return nil
				},
			})
			require.NoError(t, err)
			require.NoError(t, w.Run(ctx))
		})
	}
}

// The workers do not refer to an item after its Done.
func TestC49NothingRefersToAnItemAfterDone(t *testing.T) {
	batch := func(context.Context, []any) []error { return nil }
	for name, o := range map[string]worker.Options[any]{
		"single": {Workers: 1, Handle: succeed[any]},
		"batch":  {Workers: 1, HandleBatch: batch, BatchSize: 4},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue[any](1)
			w, err := worker.New(q, o)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- w.Run(ctx) }()
			collectedItems := make(chan int, 3)
			func() {
				for i := range 3 {
					item := &payload{byte(i)}
					runtime.AddCleanup(item, func(i int) { collectedItems <- i }, i)
					q.Add(item)
				}
			}()
			for q.Stats().Held > 0 {
				runtime.Gosched()
			}
			var collected []int
			for len(collected) < 3 {
				runtime.GC()
				select {
				case i := <-collectedItems:
					collected = append(collected, i)
				default:
				}
			}
			slices.Sort(collected)
			require.Equal(t, numbers(3), collected)
			cancel()
			require.NoError(t, <-ended)
		})
	}
}
