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
	"github.com/shardq/shardq/limiter"
)

type (
	text          = shardq.Pending[string, string]
	textCoalescer = shardq.Coalescer[string, string]
)

// newTexts returns a coalescer of one shard, whose retries come after 1 s, 2 s, 4 s, …
func newTexts(change ...func(*shardq.CoalescerOptions[string, string])) *textCoalescer {
	slowly := func(o *shardq.CoalescerOptions[string, string]) {
		o.Queue.Name = "texts"
		o.Queue.RateLimiter = limiter.NewExponential[string](time.Second, time.Hour)
	}
	return newJoiner(1, append([]func(*shardq.CoalescerOptions[string, string]){slowly}, change...)...)
}

// A textStaff is Workers of a coalescer whose Run is under way, and what their hooks were told.
type textStaff struct {
	*shardq.Workers[text]
	stop  context.CancelFunc
	ended func() bool
	err   error // of Run, once it has ended

	mu              sync.Mutex
	failed, givenUp []string
}

func employForTexts(t *testing.T, c *textCoalescer, o shardq.WorkerOptions[text]) *textStaff {
	t.Helper()
	s := &textStaff{}
	o.Workers = max(1, o.Workers)
	o.OnError = func(f shardq.Failure[text]) { s.note(&s.failed, f) }
	if o.OnGiveUp == nil {
		o.OnGiveUp = func(f shardq.Failure[text]) { s.note(&s.givenUp, f) }
	}
	w, err := shardq.NewCoalescerWorkers(c, o)
	require.NoError(t, err)
	s.Workers = w
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	t.Cleanup(cancel)
	s.ended = returned(func() { s.err = w.Run(ctx) })
	return s
}

func (s *textStaff) note(where *[]string, f shardq.Failure[text]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*where = append(*where, fmt.Sprintf("%s=%s %d: %v", f.Item.Key, f.Item.Value, f.Attempt, f.Err))
}

func (s *textStaff) dismiss(t *testing.T) {
	t.Helper()
	s.stop()
	requireBecomesTrue(t, s.ended)
	require.NoError(t, s.err)
	require.Zero(t, s.Len())
}

// forEachTextForm runs a test with a handler in both forms: of single keys, and of batches.
func forEachTextForm(t *testing.T, handle func(context.Context, text) error, test func(t *testing.T, o shardq.WorkerOptions[text])) {
	t.Helper()
	inBatches := func(ctx context.Context, all []text) []error {
		errs := make([]error, len(all))
		for i, one := range all {
			errs[i] = handle(ctx, one)
			all[i] = text{Key: "spoilt"} // the slice is the handler's
		}
		return errs
	}
	for name, o := range map[string]shardq.WorkerOptions[text]{
		"single": {Handle: handle},
		"batch":  {HandleBatch: inBatches, BatchSize: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, o) })
		})
	}
}

// The simple form.
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
		require.ErrorContains(t, c.Run(t.Context(), 0, func(context.Context, string, string) error { return nil }), "WorkerOptions.Workers is 0")
		require.ErrorContains(t, c.Run(t.Context(), 1, nil), "Handle and HandleBatch are both nil")
		_, err := shardq.NewCoalescerWorkers[string, string](nil, shardq.WorkerOptions[text]{})
		require.ErrorContains(t, err, "without a coalescer")
		require.ErrorContains(t, err, "Workers is 0")
	})
}

// However an attempt fails, its value comes after the back-off, before what came meanwhile,
// which waits with it, or comes at once if a Put ends a back-off.
func TestC58FailedValueGoesBack(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error":  func() error { return errOnPurpose },
		"panic":  func() error { panic(errOnPurpose) },
		"Goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			forEachBackoff(t, func(t *testing.T, backoff func(*shardq.CoalescerOptions[string, string]), putEnds bool) {
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
				forEachTextForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[text]) {
					begin, seen, times = time.Now(), nil, nil
					c = newTexts(backoff)
					s := employForTexts(t, c, o)
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
					require.Empty(t, s.givenUp)
					require.Zero(t, c.Queue().NumRequeues("a"))
					requireNothing(t, c)
					s.dismiss(t)
				})
			})
		})
	}
}

func TestC58RequeueAfter(t *testing.T) {
	var mu sync.Mutex // a delay wakes a worker, and tells it nothing of this goroutine
	var seen []string
	look := func() []string {
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
			return shardq.RequeueAfter(time.Hour)
		case 3:
			return shardq.RequeueAfter(0)
		case 4:
			return shardq.RequeueAfter(time.Hour)
		}
		return nil
	}
	forEachBackoff(t, func(t *testing.T, backoff func(*shardq.CoalescerOptions[string, string]), putEnds bool) {
		forEachTextForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[text]) {
			seen = nil
			c := newTexts(backoff)
			s := employForTexts(t, c, o)
			require.NoError(t, c.Put("a", "1"))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, []string{"1", "1"}, look())
			require.Zero(t, c.Queue().NumRequeues("a"), "its history is forgotten")
			require.Equal(t, 1, c.Len())
			time.Sleep(time.Hour)
			synctest.Wait()
			require.Equal(t, []string{"1", "1", "1", "1"}, look())
			require.NoError(t, c.Put("a", "2"))
			synctest.Wait()
			if !putEnds {
				require.Len(t, look(), 4)
				time.Sleep(time.Hour)
				synctest.Wait()
			}
			require.Equal(t, "12", look()[4])
			requireNothing(t, c)
			require.Equal(t, []string{"a=1 1: on purpose"}, s.failed)
			s.dismiss(t)
		})
	})
}

// What is given up is told with its value, which nobody else has then.
func TestC58GivenUpWithTheValue(t *testing.T) {
	for name, err := range map[string]error{"MaxAttempts": errOnPurpose, "Permanent": shardq.Permanent(errOnPurpose)} {
		t.Run(name, func(t *testing.T) {
			var c *textCoalescer
			handle := func(context.Context, text) error { return err }
			forEachTextForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[text]) {
				var told []string
				o.MaxAttempts = 2
				o.OnGiveUp = func(f shardq.Failure[text]) {
					assert.Equal(t, "texts", f.Queue)
					assert.Zero(t, c.Len(), "the value is in the coalescer, too")
					assert.Equal(t, 1, c.Stats().Processing, "somebody may have the key")
					told = append(told, fmt.Sprintf("%s=%s %d", f.Item.Key, f.Item.Value, f.Attempt))
				}
				c = newTexts()
				require.NoError(t, c.Put("a", "1")) // before there are workers, who might take it alone
				require.NoError(t, c.Put("a", "2"))
				s := employForTexts(t, c, o)
				time.Sleep(time.Minute)
				synctest.Wait()
				attempt := map[string]int{"MaxAttempts": 2, "Permanent": 1}[name]
				require.Equal(t, []string{fmt.Sprintf("a=12 %d", attempt)}, told)
				require.Len(t, s.failed, attempt)
				require.Zero(t, c.Queue().NumRequeues("a"))
				requireNothing(t, c)
				s.dismiss(t)
			})
		})
	}
}

// A value that fails once a shutdown has begun is refused, and so given up; one that was put
// before is handled.
func TestC58FailureDuringAShutdown(t *testing.T) {
	for _, err := range []error{errOnPurpose, shardq.RequeueAfter(time.Second)} {
		var gate chan struct{}
		var seen []string
		handle := func(_ context.Context, one text) error {
			<-gate
			if seen = append(seen, one.Value); one.Value == "1" {
				return err
			}
			return nil
		}
		forEachTextForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[text]) {
			gate, seen = make(chan struct{}), nil
			asked := 0
			l := &limiterWithHook{limiter.NewExponential[string](time.Second, time.Hour), func() { asked++ }}
			c := newTexts(func(o *shardq.CoalescerOptions[string, string]) { o.Queue.RateLimiter = l })
			s := employForTexts(t, c, o)
			require.NoError(t, c.Put("a", "1"))
			synctest.Wait()
			require.NoError(t, c.Put("a", "2"))
			c.ShutDown()
			require.ErrorIs(t, c.Put("a", "3"), shardq.ErrShutDown)
			close(gate)
			requireBecomesTrue(t, s.ended)
			require.NoError(t, s.err)
			require.Equal(t, []string{"1", "2"}, seen)
			require.Equal(t, []string{"a=1 1: shardq: queue is shut down: " + err.Error()}, s.givenUp)
			require.Zero(t, asked, "a failure that nobody tries again is counted")
			require.Zero(t, c.Queue().NumRequeues("a"))
			requireNothing(t, c)
		})
	}
}

// A shutdown that begins while a value goes back either has it or refuses it: it is told of
// once. Here the limiter is asked, and before it answers the coalescer is shut down.
func TestC58ShutdownBesideAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiterWithHook{Limiter: limiter.NewExponential[string](time.Second, time.Hour)}
		c := newTexts(func(o *shardq.CoalescerOptions[string, string]) { o.Queue.RateLimiter = l })
		l.hook = c.ShutDown
		s := employForTexts(t, c, shardq.WorkerOptions[text]{Handle: func(context.Context, text) error { return errOnPurpose }})
		require.NoError(t, c.Put("a", "1"))
		requireBecomesTrue(t, s.ended)
		require.Equal(t, []string{"a=1 1: shardq: queue is shut down: on purpose"}, s.givenUp)
		requireNothing(t, c)
	})
}

// At the end of the context what is ready is handled, and what waits is told of, with its value.
func TestC58DrainTellsOfValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		gate, first := make(chan struct{}), true
		var seen []string
		s := employForTexts(t, c, shardq.WorkerOptions[text]{
			Drain: &shardq.DrainOptions{Waiting: shardq.DropWaiting},
			Handle: func(ctx context.Context, one text) error {
				if one.Key == "waits" {
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
		require.NoError(t, c.Put("waits", "1"))
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
		require.Equal(t, []string{"waits=1 1: shardq: queue is shut down: dropped while it waited for its delay"}, s.givenUp)
		requireNothing(t, c)
		require.Zero(t, c.Queue().NumRequeues("waits"))
	})
}

// A drain that takes too long is given up, with the error of the coalescer's drain.
func TestC58DrainTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		s := employForTexts(t, c, shardq.WorkerOptions[text]{
			Drain: &shardq.DrainOptions{}, DrainTimeout: time.Minute,
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
		require.Equal(t, [3]int{0, 1, 1}, [3]int{left.Processing, left.Ready, left.Waiting})
		require.Empty(t, s.givenUp)
		values, is := errors.AsType[*shardq.CoalescerDrainError[string, string]](s.err)
		require.True(t, is, "%v", s.err)
		require.Equal(t, 2, c.Len(), "they stay until they are asked for")
		require.ElementsMatch(t, []text{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}, values.Left())
		require.Len(t, values.Left(), 2, "the same again")
		require.Zero(t, c.Stats().Held)
		requireNothing(t, c)
	})
}

// What goes back is what the handler was given; what that refers to is as the handler left it.
func TestC58ValueGoesBackAsItWasGiven(t *testing.T) {
	type list = shardq.Pending[string, []int]
	synctest.Test(t, func(t *testing.T) {
		c := shardq.MustCoalescer(shardq.CoalescerOptions[string, []int]{
			Merge: func(pending, next []int) []int { return append(pending, next...) },
		})
		var seen [][]int
		w, err := shardq.NewCoalescerWorkers(c, shardq.WorkerOptions[list]{
			Workers: 1, BatchSize: 2,
			HandleBatch: func(_ context.Context, all []list) []error {
				seen = append(seen, slices.Clone(all[0].Value))
				if len(seen) > 1 {
					return nil
				}
				all[0].Value[0] = 10 // the caller's doing
				all[0].Value = nil   // the slice of the batch is the handler's
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

// A hook that panics, and a limiter or a Weight that does, end Run, and lose no value.
func TestC58PanicsBesideTheHandler(t *testing.T) {
	for name, test := range map[string]struct {
		spoil   func(*shardq.CoalescerOptions[string, string], *shardq.WorkerOptions[text])
		pending string
	}{
		"OnError": {func(_ *shardq.CoalescerOptions[string, string], o *shardq.WorkerOptions[text]) {
			o.OnError = func(shardq.Failure[text]) { panic("user") }
		}, "1"},
		"OnGiveUp": {func(_ *shardq.CoalescerOptions[string, string], o *shardq.WorkerOptions[text]) {
			o.MaxAttempts, o.OnGiveUp = 1, func(shardq.Failure[text]) { panic("user") }
		}, ""},
		"NumRequeues": {func(c *shardq.CoalescerOptions[string, string], _ *shardq.WorkerOptions[text]) {
			c.Queue.RateLimiter = &userLimiter{c.Queue.RateLimiter, 1}
		}, "1"},
		"When": {func(c *shardq.CoalescerOptions[string, string], _ *shardq.WorkerOptions[text]) {
			c.Queue.RateLimiter = &userLimiter{c.Queue.RateLimiter, 2}
		}, "1"},
		"Weight": {func(c *shardq.CoalescerOptions[string, string], _ *shardq.WorkerOptions[text]) {
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
				o := shardq.WorkerOptions[text]{Workers: 1, Handle: func(context.Context, text) error { return errOnPurpose }}
				c := newTexts(func(options *shardq.CoalescerOptions[string, string]) { test.spoil(options, &o) })
				require.NoError(t, c.Put("a", "1"))
				w, err := shardq.NewCoalescerWorkers(c, o)
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

// A value that nobody can give back, as the limiter panics during a shutdown, is told of.
func TestC58PanickingLimiterDuringAShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &userLimiter{limiter.NewExponential[string](time.Second, time.Hour), 1}
		c := newTexts(func(o *shardq.CoalescerOptions[string, string]) { o.Queue.RateLimiter = l })
		require.NoError(t, c.Put("a", "1"))
		var told []text
		w, err := shardq.NewCoalescerWorkers(c, shardq.WorkerOptions[text]{
			Workers:  1,
			Handle:   func(context.Context, text) error { c.ShutDown(); return errOnPurpose },
			OnGiveUp: func(f shardq.Failure[text]) { told = append(told, f.Item) },
		})
		require.NoError(t, err)
		require.NotNil(t, panicOf(func() { _ = w.Run(t.Context()) }))
		require.Equal(t, []text{{Key: "a", Value: "1"}}, told)
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

// panicOf returns what do panics with.
func panicOf(do func()) (fault *shardq.PanicError) {
	defer func() {
		r := recover()
		if fault, _ = r.(*shardq.PanicError); fault == nil && r != nil {
			panic(r) // Run is to panic with nothing else
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
	c := shardq.MustCoalescer(shardq.CoalescerOptions[int, int]{
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

// A key that gets a value each 10 ms, while what it is written to is down for a second: the
// back-off bounds the attempts, and nothing is given up. If each Put ends the back-off, the attempts
// are used up at once, over and over.
func TestC58HotKeyBesideABackoff(t *testing.T) {
	forEachBackoff(t, func(t *testing.T, backoff func(*shardq.CoalescerOptions[string, string]), putEnds bool) {
		const puts, pause, down = 192, 10 * time.Millisecond, time.Second
		var failures, handled, givenUp int
		var begin time.Time
		handle := func(_ context.Context, one text) error {
			if time.Since(begin) < down {
				failures++
				return errOnPurpose
			}
			handled += len(one.Value)
			return nil
		}
		forEachTextForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[text]) {
			begin, failures, handled, givenUp = time.Now(), 0, 0, 0
			o.MaxAttempts = 10
			o.OnGiveUp = func(f shardq.Failure[text]) { givenUp += len(f.Item.Value) }
			c := newJoiner(1, backoff) // with the default limiter: 5 ms, 10 ms, 20 ms, …
			s := employForTexts(t, c, o)
			for range puts {
				require.NoError(t, c.Put("hot", "v"))
				time.Sleep(pause)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, puts, handled+givenUp)
			if putEnds {
				require.Greater(t, failures, int(down/pause)-10)
				require.Greater(t, givenUp, 0)
			} else {
				require.Equal(t, 8, failures) // at 0, 5, 15, 35, …, 635 ms
				require.Zero(t, givenUp)
			}
			s.dismiss(t)
		})
	})
}
