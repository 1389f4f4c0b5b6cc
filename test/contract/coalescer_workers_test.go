package contract

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

type (
	text          = coalesce.Entry[string, string]
	textCoalescer = coalesce.Coalescer[string, string]
)

// newTexts returns a coalescer of one shard, whose retries are delayed by 1 s,
// 2 s, 4 s, …
func newTexts(change ...func(*coalesce.Options[string, string])) *textCoalescer {
	slowly := func(o *coalesce.Options[string, string]) {
		o.Queue.Name = "texts"
		o.Queue.RateLimiter = limiter.NewExponential[string](time.Second, time.Hour)
	}
	return newJoiner(1, append([]func(*coalesce.Options[string, string]){slowly}, change...)...)
}

// A textPool is a running Pool of a coalescer, with the calls of its hooks.
type textPool struct {
	*worker.Pool[text]
	stop  context.CancelFunc
	ended func() bool
	err   error // of Run, once it has ended

	mu                sync.Mutex
	failed, discarded []string
}

func startTextPool(t *testing.T, c *textCoalescer, o worker.Options[text]) *textPool {
	t.Helper()
	s := &textPool{}
	o.Workers = max(1, o.Workers)
	o.OnError = func(_ context.Context, f worker.Failure[text]) { s.note(&s.failed, f) }
	if o.OnDiscard == nil {
		o.OnDiscard = func(_ context.Context, f worker.Failure[text]) { s.note(&s.discarded, f) }
	}
	w, err := worker.New(c, o)
	require.NoError(t, err)
	s.Pool = w
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	t.Cleanup(cancel)
	s.ended = returned(func() { s.err = w.Run(ctx) })
	return s
}

func (s *textPool) note(where *[]string, f worker.Failure[text]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*where = append(*where, fmt.Sprintf("%s=%s %d: %v", f.Item.Key, f.Item.Value, f.Attempt, f.Err))
}

func (s *textPool) stopPool(t *testing.T) {
	t.Helper()
	s.stop()
	requireBecomesTrue(t, s.ended)
	require.NoError(t, s.err)
	require.Zero(t, s.Len())
}

// forEachTextForm runs a test with a handler in both forms: for single keys,
// and for batches.
func forEachTextForm(t *testing.T, handle func(context.Context, text) error, test func(t *testing.T, o worker.Options[text])) {
	t.Helper()
	inBatches := func(ctx context.Context, all []text) []error {
		errs := make([]error, len(all))
		for i, one := range all {
			errs[i] = handle(ctx, one)
			all[i] = text{Key: "spoilt"} // the handler owns the slice
		}
		return errs
	}
	for name, o := range map[string]worker.Options[text]{
		"single": {Handle: handle},
		"batch":  {HandleBatch: inBatches, BatchSize: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, o) })
		})
	}
}

// Run is the simple form.
func TestC58RunOfACoalescer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		ended := returned(func() {
			require.NoError(t, c.Run(ctx, 1, func(_ context.Context, key, value string) error {
				seen = append(seen, key+value)
				if key == "b" && len(seen) < 3 {
					return errOnPurpose
				}
				return nil
			}))
		})
		require.NoError(t, c.Put("a", "1"))
		require.NoError(t, c.Put("b", "2"))
		requireStillFalse(t, ended, "the coalescer is open")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"a1", "b2", "b2"}, seen)
		requireNothing(t, c)
		require.Zero(t, c.Queue().NumRequeues("b"))
		cancel()
		requireBecomesTrue(t, ended)
		require.False(t, c.ShuttingDown())
		require.ErrorContains(t, c.Run(t.Context(), 0, func(context.Context, string, string) error { return nil }), "Options.Workers is 0")
		require.ErrorContains(t, c.Run(t.Context(), 1, nil), "Handle and HandleBatch are both nil")
		_, err := worker.New[text](nil, worker.Options[text]{})
		require.ErrorContains(t, err, "without a source")
		require.ErrorContains(t, err, "Workers is 0")
	})
}

// However an attempt fails, its value is merged before the values put
// meanwhile, and is ready after the backoff. If a Put ends the backoff, it is
// ready at once.
func TestC58FailedValueGoesBack(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error":  func() error { return errOnPurpose },
		"panic":  func() error { panic(errOnPurpose) },
		"Goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			forEachBackoff(t, func(t *testing.T, backoff func(*coalesce.Options[string, string]), putEnds bool) {
				var c *textCoalescer
				var seen []string
				var times []time.Duration
				var begin time.Time
				handle := func(_ context.Context, one text) error {
					seen, times = append(seen, one.Value), append(times, time.Since(begin))
					if len(seen) > 3 {
						return nil
					}
					if len(seen) == 2 {
						require.NoError(t, c.Put("a", "2")) // while it is in processing
					}
					return fail()
				}
				forEachTextForm(t, handle, func(t *testing.T, o worker.Options[text]) {
					begin, seen, times = time.Now(), nil, nil
					c = newTexts(backoff)
					s := startTextPool(t, c, o)
					require.NoError(t, c.Put("a", "1"))
					time.Sleep(time.Minute)
					synctest.Wait()
					require.Equal(t, []string{"1", "1", "12", "12"}, seen)
					want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}
					if putEnds {
						want = []time.Duration{0, time.Second, time.Second, 5 * time.Second}
					}
					require.Equal(t, want, times)
					require.Len(t, s.failed, 3)
					require.Contains(t, s.failed[2], "a=12 3: ")
					require.Empty(t, s.discarded)
					require.Zero(t, c.Queue().NumRequeues("a"))
					requireNothing(t, c)
					s.stopPool(t)
				})
			})
		})
	}
}

func TestC58RequeueAfter(t *testing.T) {
	var mu sync.Mutex // the race detector does not see that a delay orders this goroutine before a worker
	var seen []string
	soFar := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
	handle := func(_ context.Context, one text) error {
		mu.Lock()
		defer mu.Unlock()
		switch seen = append(seen, one.Value); len(seen) {
		case 1:
			return errOnPurpose
		case 2:
			return worker.RequeueAfter(time.Hour)
		case 3:
			return worker.RequeueAfter(0)
		case 4:
			return worker.RequeueAfter(time.Hour)
		}
		return nil
	}
	forEachBackoff(t, func(t *testing.T, backoff func(*coalesce.Options[string, string]), putEnds bool) {
		forEachTextForm(t, handle, func(t *testing.T, o worker.Options[text]) {
			seen = nil
			c := newTexts(backoff)
			s := startTextPool(t, c, o)
			require.NoError(t, c.Put("a", "1"))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, []string{"1", "1"}, soFar())
			require.Zero(t, c.Queue().NumRequeues("a"), "its history is gone")
			require.Equal(t, 1, c.Len())
			time.Sleep(time.Hour)
			synctest.Wait()
			require.Equal(t, []string{"1", "1", "1", "1"}, soFar())
			require.NoError(t, c.Put("a", "2"))
			synctest.Wait()
			if !putEnds {
				require.Len(t, soFar(), 4)
				time.Sleep(time.Hour)
				synctest.Wait()
			}
			require.Equal(t, "12", soFar()[4])
			requireNothing(t, c)
			require.Equal(t, []string{"a=1 1: on purpose"}, s.failed)
			s.stopPool(t)
		})
	})
}

// OnDiscard gets the discarded value, which no other goroutine has then.
func TestC58DiscardedWithTheValue(t *testing.T) {
	for name, err := range map[string]error{"MaxAttempts": errOnPurpose, "Permanent": worker.Permanent(errOnPurpose)} {
		t.Run(name, func(t *testing.T) {
			var c *textCoalescer
			handle := func(context.Context, text) error { return err }
			forEachTextForm(t, handle, func(t *testing.T, o worker.Options[text]) {
				var reported []string
				o.MaxAttempts = 2
				o.OnDiscard = func(_ context.Context, f worker.Failure[text]) {
					assert.Equal(t, "texts", f.Queue)
					assert.Zero(t, c.Len(), "the value is in the coalescer, too")
					assert.Equal(t, 1, c.Stats().Processing, "a worker may have the key")
					reported = append(reported, fmt.Sprintf("%s=%s %d", f.Item.Key, f.Item.Value, f.Attempt))
				}
				c = newTexts()
				require.NoError(t, c.Put("a", "1")) // before there are workers, which might take it alone
				require.NoError(t, c.Put("a", "2"))
				s := startTextPool(t, c, o)
				time.Sleep(time.Minute)
				synctest.Wait()
				attempt := map[string]int{"MaxAttempts": 2, "Permanent": 1}[name]
				require.Equal(t, []string{fmt.Sprintf("a=12 %d", attempt)}, reported)
				require.Len(t, s.failed, attempt)
				require.Zero(t, c.Queue().NumRequeues("a"))
				requireNothing(t, c)
				s.stopPool(t)
			})
		})
	}
}

// A value that fails after a shutdown has begun is refused, and so discarded.
// One that was put before is handled.
func TestC58FailureDuringAShutdown(t *testing.T) {
	for _, err := range []error{errOnPurpose, worker.RequeueAfter(time.Second)} {
		var gate chan struct{}
		var seen []string
		handle := func(_ context.Context, one text) error {
			<-gate
			if seen = append(seen, one.Value); one.Value == "1" {
				return err
			}
			return nil
		}
		forEachTextForm(t, handle, func(t *testing.T, o worker.Options[text]) {
			gate, seen = make(chan struct{}), nil
			asked := 0
			l := &limiterWithHook{limiter.NewExponential[string](time.Second, time.Hour), func() { asked++ }}
			c := newTexts(func(o *coalesce.Options[string, string]) { o.Queue.RateLimiter = l })
			s := startTextPool(t, c, o)
			require.NoError(t, c.Put("a", "1"))
			synctest.Wait()
			require.NoError(t, c.Put("a", "2"))
			c.ShutDown()
			require.ErrorIs(t, c.Put("a", "3"), shardq.ErrShutDown)
			close(gate)
			requireBecomesTrue(t, s.ended)
			require.NoError(t, s.err)
			require.Equal(t, []string{"1", "2"}, seen)
			require.Equal(t, []string{"a=1 1: shardq: queue is shut down: " + err.Error()}, s.discarded)
			require.Zero(t, asked, "a failure without a retry is counted")
			require.Zero(t, c.Queue().NumRequeues("a"))
			requireNothing(t, c)
		})
	}
}

// A shutdown that begins while a value is returned either keeps it or refuses
// it. It is reported once. Here the coalescer is shut down during the call of
// the limiter.
func TestC58ShutdownBesideAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiterWithHook{Limiter: limiter.NewExponential[string](time.Second, time.Hour)}
		c := newTexts(func(o *coalesce.Options[string, string]) { o.Queue.RateLimiter = l })
		l.hook = c.ShutDown
		s := startTextPool(t, c, worker.Options[text]{Handle: func(context.Context, text) error { return errOnPurpose }})
		require.NoError(t, c.Put("a", "1"))
		requireBecomesTrue(t, s.ended)
		require.Equal(t, []string{"a=1 1: shardq: queue is shut down: on purpose"}, s.discarded)
		requireNothing(t, c)
	})
}

// When the context ends, ready values are handled, and delayed ones are
// reported.
func TestC58DrainReportsValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		gate, first := make(chan struct{}), true
		var seen []string
		s := startTextPool(t, c, worker.Options[text]{
			Drain: c.DrainWith(shardq.DrainOptions{Delayed: shardq.DropDelayed}),
			Handle: func(ctx context.Context, one text) error {
				if one.Key == "delayed" {
					return errOnPurpose
				}
				if first {
					first = false
					<-gate
				}
				seen = append(seen, one.Key+one.Value)
				return ctx.Err()
			},
		})
		require.NoError(t, c.Put("delayed", "1"))
		synctest.Wait()
		for _, key := range []string{"a", "b"} {
			require.NoError(t, c.Put(key, "1"))
		}
		synctest.Wait()
		s.stop()
		requireStillFalse(t, s.ended, "a value is ready")
		close(gate)
		requireBecomesTrue(t, s.ended)
		require.NoError(t, s.err)
		require.Equal(t, []string{"a1", "b1"}, seen)
		require.Equal(t, []string{"delayed=1 1: shardq: queue is shut down: dropped while it was delayed"}, s.discarded)
		requireNothing(t, c)
		require.Zero(t, c.Queue().NumRequeues("delayed"))
	})
}

// A drain that takes too long ends early, with the error of the coalescer's
// drain.
func TestC58DrainTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		s := startTextPool(t, c, worker.Options[text]{
			Drain: c.DrainWith(shardq.DrainOptions{}), DrainTimeout: time.Minute,
			Handle: func(ctx context.Context, _ text) error { <-ctx.Done(); return ctx.Err() },
		})
		require.NoError(t, c.Put("a", "1"))
		require.NoError(t, c.Put("b", "2"))
		synctest.Wait()
		s.stop()
		time.Sleep(time.Minute)
		requireBecomesTrue(t, s.ended)
		left, is := errors.AsType[*shardq.DrainError[string]](s.err)
		require.True(t, is, "%v", s.err)
		require.Equal(t, [3]int{0, 1, 1}, [3]int{left.Processing, left.Ready, left.Delayed})
		require.Empty(t, s.discarded)
		values, is := errors.AsType[*coalesce.DrainError[string, string]](s.err)
		require.True(t, is, "%v", s.err)
		require.Equal(t, 2, c.Len(), "they stay until they are asked for")
		require.ElementsMatch(t, []text{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}, values.Left())
		require.Len(t, values.Left(), 2, "the same again")
		require.Zero(t, c.Stats().Held)
		requireNothing(t, c)
	})
}

// The value that is returned is the one that the handler got, with the changes
// of the handler to what it refers to.
func TestC58ValueGoesBackAsItWasGiven(t *testing.T) {
	type list = coalesce.Entry[string, []int]
	synctest.Test(t, func(t *testing.T) {
		c := coalesce.MustNew(coalesce.Options[string, []int]{
			Merge: func(pending, next []int) []int { return append(pending, next...) },
		})
		var seen [][]int
		w, err := worker.New(c, worker.Options[list]{
			Workers: 1, BatchSize: 2,
			HandleBatch: func(_ context.Context, all []list) []error {
				seen = append(seen, slices.Clone(all[0].Value))
				if len(seen) > 1 {
					return nil
				}
				all[0].Value[0] = 10 // changes the value that is returned
				all[0].Value = nil   // the handler owns the slice of the batch
				panic(errOnPurpose)
			},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := returned(func() { require.NoError(t, w.Run(ctx)) })
		require.NoError(t, c.Put("a", []int{1, 2}))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, [][]int{{1, 2}, {10, 2}}, seen)
		cancel()
		requireBecomesTrue(t, ended)
	})
}

// If a hook, the limiter or Weight panics, Run ends and no value is lost.
func TestC58PanicsBesideTheHandler(t *testing.T) {
	for name, test := range map[string]struct {
		spoil   func(*coalesce.Options[string, string], *worker.Options[text])
		pending string
	}{
		"OnError": {func(_ *coalesce.Options[string, string], o *worker.Options[text]) {
			o.OnError = func(context.Context, worker.Failure[text]) { panic("user") }
		}, "1"},
		"OnDiscard": {func(_ *coalesce.Options[string, string], o *worker.Options[text]) {
			o.MaxAttempts, o.OnDiscard = 1, func(context.Context, worker.Failure[text]) { panic("user") }
		}, ""},
		"NumRequeues": {func(c *coalesce.Options[string, string], _ *worker.Options[text]) {
			c.Queue.RateLimiter = &userLimiter{c.Queue.RateLimiter, 1}
		}, "1"},
		"When": {func(c *coalesce.Options[string, string], _ *worker.Options[text]) {
			c.Queue.RateLimiter = &userLimiter{c.Queue.RateLimiter, 2}
		}, "1"},
		"Weight": {func(c *coalesce.Options[string, string], _ *worker.Options[text]) {
			calls := 0
			c.Weight = func(v string) int {
				if calls++; calls == 2 {
					panic("user")
				}
				return len(v)
			}
		}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := worker.Options[text]{Workers: 1, Handle: func(context.Context, text) error { return errOnPurpose }}
				c := newTexts(func(options *coalesce.Options[string, string]) { test.spoil(options, &o) })
				require.NoError(t, c.Put("a", "1"))
				w, err := worker.New(c, o)
				require.NoError(t, err)
				require.Equal(t, "user", panicOf(func() { _ = w.Run(t.Context()) }).Value)
				require.Zero(t, c.Stats().Processing)
				if test.pending == "" {
					requireNothing(t, c)
					return
				}
				require.Equal(t, 1, c.Stats().Values.Weight)
				time.Sleep(time.Minute)
				takeValue(t, c, "a", test.pending)
				c.Done("a")
				requireNothing(t, c)
			})
		})
	}
}

// A value that cannot be returned, because the limiter panics during a
// shutdown, is reported.
func TestC58PanickingLimiterDuringAShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &userLimiter{limiter.NewExponential[string](time.Second, time.Hour), 1}
		c := newTexts(func(o *coalesce.Options[string, string]) { o.Queue.RateLimiter = l })
		require.NoError(t, c.Put("a", "1"))
		var reported []text
		w, err := worker.New(c, worker.Options[text]{
			Workers:   1,
			Handle:    func(context.Context, text) error { c.ShutDown(); return errOnPurpose },
			OnDiscard: func(_ context.Context, f worker.Failure[text]) { reported = append(reported, f.Item) },
		})
		require.NoError(t, err)
		require.NotNil(t, panicOf(func() { _ = w.Run(t.Context()) }))
		require.Equal(t, []text{{Key: "a", Value: "1"}}, reported)
		requireNothing(t, c)
	})
}

// A userLimiter panics at one of its calls.
type userLimiter struct {
	limiter.Limiter[string]
	left int
}

func (l *userLimiter) live() {
	if l.left--; l.left == 0 {
		panic("user")
	}
}

func (l *userLimiter) When(key string) time.Duration { l.live(); return l.Limiter.When(key) }
func (l *userLimiter) NumRequeues(key string) int    { l.live(); return l.Limiter.NumRequeues(key) }

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

// Nothing is allocated per key.
func TestC58NoAllocationPerKey(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	const keys = 100 // the stripes keep their entries
	c := coalesce.MustNew(coalesce.Options[int, int]{
		Queue: shardq.Options[int]{Shards: 1},
		Merge: func(pending, next int) int { return pending + next },
	})
	ctx, cancel := context.WithCancel(t.Context())
	gate, through, left := make(chan struct{}), make(chan struct{}), keys
	ended := make(chan error)
	go func() {
		ended <- c.Run(ctx, 1, func(context.Context, int, int) error {
			if left == keys {
				<-gate
			}
			if left--; left == 0 {
				left = keys
				through <- struct{}{}
			}
			return nil
		})
	}()
	allocations := testing.AllocsPerRun(20, func() {
		for key := range keys {
			_ = c.Put(key, 1)
		}
		gate <- struct{}{}
		<-through
	})
	cancel()
	require.NoError(t, <-ended)
	require.Less(t, allocations, keys/10.0, "a burst may make the queue grow")
}

// A key gets a value each 10 ms while its sink is down for a second. The
// backoff limits the attempts, and nothing is discarded. If each Put ends the
// backoff, the attempts are exhausted again and again.
func TestC58HotKeyBesideABackoff(t *testing.T) {
	forEachBackoff(t, func(t *testing.T, backoff func(*coalesce.Options[string, string]), putEnds bool) {
		const puts, pause, down = 192, 10 * time.Millisecond, time.Second
		var failures, handled, discarded int
		var begin time.Time
		handle := func(_ context.Context, one text) error {
			if time.Since(begin) < down {
				failures++
				return errOnPurpose
			}
			handled += len(one.Value)
			return nil
		}
		forEachTextForm(t, handle, func(t *testing.T, o worker.Options[text]) {
			begin, failures, handled, discarded = time.Now(), 0, 0, 0
			o.MaxAttempts = 10
			o.OnDiscard = func(_ context.Context, f worker.Failure[text]) { discarded += len(f.Item.Value) }
			c := newJoiner(1, backoff) // with the default limiter: 5 ms, 10 ms, 20 ms, …
			s := startTextPool(t, c, o)
			for range puts {
				require.NoError(t, c.Put("hot", "v"))
				time.Sleep(pause)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, puts, handled+discarded)
			if putEnds {
				require.Greater(t, failures, int(down/pause)-10)
				require.Greater(t, discarded, 0)
			} else {
				require.Equal(t, 8, failures) // at 0, 5, 15, 35, …, 635 ms
				require.Zero(t, discarded)
			}
			s.stopPool(t)
		})
	})
}
