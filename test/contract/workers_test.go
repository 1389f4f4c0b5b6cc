package contract

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shardq/shardq"
)

// A staff is Workers whose Run is under way, and what their hooks were told.
type staff[T comparable] struct {
	*shardq.Workers[T]
	queue *shardq.Queue[T]
	stop  context.CancelFunc
	ended func() bool
	err   error // of Run, once it has ended

	mu              sync.Mutex
	failed, givenUp []shardq.Failure[T]
}

// employ runs workers, of which the options say what is not the same for all tests.
func employ[T comparable](t *testing.T, q *shardq.Queue[T], o shardq.WorkerOptions[T]) *staff[T] {
	t.Helper()
	s := employFor(t, o, func(o shardq.WorkerOptions[T]) (*shardq.Workers[T], error) { return shardq.NewWorkers(q, o) })
	s.queue = q
	return s
}

// employFor is employ for the workers that make returns.
func employFor[T comparable](t *testing.T, o shardq.WorkerOptions[T],
	make func(shardq.WorkerOptions[T]) (*shardq.Workers[T], error)) *staff[T] {
	t.Helper()
	s := &staff[T]{}
	o.Workers = max(1, o.Workers)
	if o.OnError == nil {
		o.OnError = func(f shardq.Failure[T]) { s.note(&s.failed, f) }
	}
	if o.OnGiveUp == nil {
		o.OnGiveUp = func(f shardq.Failure[T]) { s.note(&s.givenUp, f) }
	}
	w, err := make(o)
	require.NoError(t, err)
	s.Workers = w
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	t.Cleanup(cancel)
	s.ended = returned(func() { s.err = w.Run(ctx) })
	return s
}

func (s *staff[T]) note(where *[]shardq.Failure[T], f shardq.Failure[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*where = append(*where, f)
}

// requireEnds checks that Run has returned without an error when all others are at rest.
func (s *staff[T]) requireEnds(t *testing.T) {
	t.Helper()
	requireBecomesTrue(t, s.ended)
	require.NoError(t, s.err)
	require.Zero(t, s.Len())
}

// dismiss ends Run, and checks that it returns without an error.
func (s *staff[T]) dismiss(t *testing.T) {
	t.Helper()
	s.stop()
	s.requireEnds(t)
}

// succeed is a handler.
func succeed[T comparable](context.Context, T) error { return nil }

var errOnPurpose = errors.New("on purpose")

// failing returns a handler that fails so often with an error, and then succeeds.
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
		q.AddBatch(numbers(100))
		var mu sync.Mutex
		var seen []int
		s := employ(t, q, shardq.WorkerOptions[int]{Workers: 4, Handle: func(ctx context.Context, item int) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, item)
			return ctx.Err()
		}})
		synctest.Wait()
		require.Equal(t, 4, s.Len())
		requireExactly(t, numbers(100), seen)
		require.Zero(t, q.NumRequeues(7), "a success is the end of the history")
		requireCounts(t, q, 0, 1, 0) // 7 waits still
		q.Add(200)
		synctest.Wait()
		require.Equal(t, 200, seen[100])
		require.Empty(t, s.failed)
		s.dismiss(t)
	})
}

// The simple form.
func TestC49RunOfAQueue(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddBatch(numbers(10))
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
		require.ErrorContains(t, q.Run(t.Context(), 0, succeed[int]), "WorkerOptions.Workers is 0")
		require.ErrorContains(t, q.Run(t.Context(), 1, nil), "Handle and HandleBatch are both nil")
	})
}

// At the end of the context workers finish what they have in hand, and leave the rest.
func TestC49EndOfTheContext(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddBatch(numbers(10))
		finish := make(chan struct{})
		var ends []error
		s := employ(t, q, shardq.WorkerOptions[int]{Workers: 1, Handle: func(ctx context.Context, _ int) error {
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

// A queue that somebody else shuts down is worked off.
func TestC49ShutDownOfTheQueue(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for _, drain := range []*shardq.DrainOptions{nil, {}} {
			q := newQueue[int](shards)
			gate, processed := make(chan struct{}), 0
			s := employ(t, q, shardq.WorkerOptions[int]{Drain: drain, Handle: func(_ context.Context, item int) error {
				<-gate
				processed++
				return nil
			}})
			q.AddBatch(numbers(10))
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
		s := employ(t, newQueue[int](2), shardq.WorkerOptions[int]{Handle: succeed[int]})
		synctest.Wait()
		require.ErrorContains(t, s.Run(t.Context()), "was called while it runs")
		require.Equal(t, 1, s.Len())
		s.dismiss(t)
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
	_, err := shardq.NewWorkers(nil, shardq.WorkerOptions[int]{
		BatchSize: 3, Timeout: -1, MaxAttempts: -1, DrainTimeout: time.Second,
	})
	for _, text := range []string{
		"without a queue", "Workers is 0", "both nil", "BatchSize is 3", "Timeout is -1ns", "MaxAttempts is -1",
		"DrainTimeout is 1s: want 0 without Drain",
	} {
		require.ErrorContains(t, err, text)
	}
	all := func(context.Context, []int) []error { return nil }
	_, err = shardq.NewWorkers(newQueue[int](1), shardq.WorkerOptions[int]{
		Workers: 1, Handle: succeed[int], HandleBatch: all, DrainTimeout: -1, Drain: &shardq.DrainOptions{Waiting: 9, Retries: 9},
	})
	for _, text := range []string{
		"both set", "BatchSize is 0", "Drain: DrainOptions.Waiting is 9", "Drain: DrainOptions.Retries is 9", "DrainTimeout is -1ns",
	} {
		require.ErrorContains(t, err, text)
	}
	_, err = shardq.NewWorkers(newQueue[string](1), shardq.WorkerOptions[string]{
		Workers: 1, HandleBatch: func(context.Context, []string) []error { return nil }, BatchSize: 1<<20 + 1,
	})
	require.ErrorContains(t, err, "BatchSize is 1048577: want 1 to 1048576")
}

// The options are read once.
func TestC49DrainOptionsAreCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		drain := &shardq.DrainOptions{Waiting: shardq.RunWaiting}
		s := employ(t, q, shardq.WorkerOptions[int]{Handle: succeed[int], Drain: drain})
		drain.Waiting = shardq.DropWaiting
		q.AddAfter(1, time.Hour)
		s.dismiss(t)
		require.Empty(t, s.givenUp)
		require.EqualValues(t, 1, q.Stats().Added)
	})
}

func TestC49ManyWorkersOfOneQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		first := employ(t, q, shardq.WorkerOptions[int]{Handle: succeed[int]})
		second := employ(t, q, shardq.WorkerOptions[int]{Handle: succeed[int]})
		first.dismiss(t)
		q.Add(1)
		synctest.Wait()
		requireCounts(t, q, 0, 0, 0)
		second.dismiss(t)
	})
}

// With a drain, handlers go on when the context ends, and what is ready is done.
func TestC49DrainAtTheEnd(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		gate := make(chan struct{})
		var seen []int
		s := employ(t, q, shardq.WorkerOptions[int]{Drain: &shardq.DrainOptions{}, Handle: func(ctx context.Context, item int) error {
			<-gate
			seen = append(seen, item)
			return ctx.Err()
		}})
		q.AddBatch(numbers(10))
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

		require.Len(t, s.givenUp, 1, "what waited is told of")
		require.Equal(t, 100, s.givenUp[0].Item)
		require.Zero(t, s.givenUp[0].Attempt)
		require.ErrorIs(t, s.givenUp[0].Err, shardq.ErrShutDown)
		require.ErrorContains(t, s.givenUp[0].Err, "dropped while it waited")
	})
}

// A drain that takes too long is given up: the handlers' contexts end, and the error has
// what is left when the last worker has left.
func TestC49DrainTimeout(t *testing.T) {
	for _, retries := range []shardq.RetryPolicy{shardq.DefaultRetries, shardq.RefuseRetries} {
		testDrainTimeout(t, retries)
	}
}

func testDrainTimeout(t *testing.T, retries shardq.RetryPolicy) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		s := employ(t, q, shardq.WorkerOptions[int]{
			Drain: &shardq.DrainOptions{Retries: retries}, DrainTimeout: time.Minute,
			Handle: func(ctx context.Context, _ int) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
		q.AddBatch(numbers(3))
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
		requireCounts(t, q, left.Ready, left.Waiting, left.Processing) // still there
		if retries == shardq.RefuseRetries {
			require.Equal(t, [3]int{0, 2, 0}, [3]int{left.Processing, left.Ready, left.Waiting})
			require.Len(t, s.givenUp, 1, "the one in processing cannot be tried again")
			require.ErrorIs(t, s.givenUp[0].Err, shardq.ErrShutDown)
			require.ErrorIs(t, s.givenUp[0].Err, context.Canceled)
		} else {
			require.Equal(t, [3]int{0, 2, 1}, [3]int{left.Processing, left.Ready, left.Waiting})
			require.Empty(t, s.givenUp, "it is left")
		}
		all := itemsOf(left.Left())
		for _, f := range s.givenUp {
			all = append(all, f.Item)
		}
		require.ElementsMatch(t, numbers(3), all, "each is told of once")
	})
}

// Items that are awaited are processed in their time.
func TestC49DrainAwaits(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		var seen []int
		s := employ(t, q, shardq.WorkerOptions[int]{
			Workers: 2, Drain: &shardq.DrainOptions{Waiting: shardq.AwaitWaiting},
			Handle: func(_ context.Context, item int) error {
				seen = append(seen, item)
				return nil
			},
		})
		q.AddAfter(1, time.Minute)
		synctest.Wait()
		s.stop()
		requireStillFalse(t, s.ended, "an item waits")
		time.Sleep(time.Minute)
		s.requireEnds(t)
		require.Equal(t, []int{1}, seen)
	})
}

// A context that has ended already is no hindrance to a drain.
func TestC49DrainAfterAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int](2)
		q.AddBatch(numbers(10))
		w, err := shardq.NewWorkers(q, shardq.WorkerOptions[int]{Workers: 2, Handle: succeed[int], Drain: &shardq.DrainOptions{}})
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
	q.AddBatch(numbers(100))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := shardq.NewWorkers(q, shardq.WorkerOptions[int]{
		Workers: 8, MaxAttempts: 2, Drain: &shardq.DrainOptions{}, DrainTimeout: time.Hour, Timeout: time.Hour,
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

// The simple form allocates nothing per item that is ready; a worker that goes to sleep may.
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
		q.AddBatch(batch)
		<-done
	})
	cancel()
	require.NoError(t, <-ended)
	require.Less(t, allocations, items/10.0, "a burst may make the queue grow")
}

// Handlers have the values of Run's context, and Labels adds the queue's name.
func TestC49ContextOfTheHandler(t *testing.T) {
	type key struct{}
	for _, drain := range []*shardq.DrainOptions{nil, {}} {
		synctest.Test(t, func(t *testing.T) {
			q := shardq.Must(shardq.Options[int]{Name: "mail"})
			q.Add(1)
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
			w, err := shardq.NewWorkers(q, shardq.WorkerOptions[int]{
				Workers: 1, Labels: true, Drain: drain,
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

// Nothing of the workers' refers to an item after its Done.
func TestC49NothingRefersToAnItemAfterDone(t *testing.T) {
	batch := func(context.Context, []*[64]int) []error { return nil }
	for name, o := range map[string]shardq.WorkerOptions[*[64]int]{
		"single": {Workers: 1, Handle: succeed[*[64]int]},
		"batch":  {Workers: 1, HandleBatch: batch, BatchSize: 4},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue[*[64]int](1)
			w, err := shardq.NewWorkers(q, o)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- w.Run(ctx) }()
			collectedItems := make(chan int, 3)
			func() {
				for i := range 3 {
					item := new([64]int)
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
