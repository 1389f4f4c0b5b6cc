package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// A shelf is a minimal Source, as a user writes one. Its items are first-in,
// first-out, and ready again at once if they fail.
type shelf struct {
	mu       sync.Mutex
	ready    []string
	taken    map[uint64]string // by the tokens of the claims
	failures map[string]int
	handouts uint64 // the number of all claims so far
	closed   bool
	changed  chan struct{}
	// refusal is the error of a closed shelf for items that would run again.
	// With silent, it does not call Refused.
	refusal error
	silent  bool
}

func newShelf(items ...string) *shelf {
	return &shelf{
		ready: items, taken: map[uint64]string{}, failures: map[string]int{},
		changed: make(chan struct{}), refusal: shardq.ErrShutDown,
	}
}

// change changes the shelf, and wakes all waiters.
func (s *shelf) change(to func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *shelf) close() { s.change(func() { s.closed = true }) }

func (s *shelf) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (n int, err error) {
	for {
		n, changed, err := s.claimNow(dst)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (s *shelf) claimNow(dst []worker.Claim[string]) (n int, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n < len(dst) && len(s.ready) > 0 {
		item := s.ready[0]
		s.ready = s.ready[1:]
		s.handouts++
		s.taken[s.handouts] = item
		dst[n] = worker.NewClaim(item, 7, s, worker.Token{ID: s.handouts, Fence: 100 + s.handouts})
		n++
	}
	if n == 0 && s.closed && len(s.taken) == 0 {
		return 0, nil, fmt.Errorf("the shelf is empty: %w", shardq.ErrShutDown)
	}
	return n, s.changed, nil
}

// end ends a claim, and then calls then.
func (s *shelf) end(token worker.Token, then func()) (err error) {
	s.change(func() {
		if _, valid := s.taken[token.ID]; !valid {
			err = worker.ErrClaimEnded
			return
		}
		delete(s.taken, token.ID)
		then()
	})
	return err
}

func (s *shelf) DoneClaim(item string, token worker.Token) error {
	return s.end(token, func() { delete(s.failures, item) })
}

func (s *shelf) ReturnClaim(item string, token worker.Token, how worker.Return) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		if how.Refused != nil && !s.silent {
			how.Refused()
		}
		return errors.Join(s.refusal, s.DoneClaim(item, token))
	}
	return s.end(token, func() {
		switch how.Reason {
		case worker.ReturnRetry:
			s.failures[item]++
		case worker.ReturnRequeue:
			delete(s.failures, item)
		}
		s.ready = append(s.ready, item)
	})
}

func (s *shelf) ClaimValid(token worker.Token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, valid := s.taken[token.ID]
	return valid
}

func (s *shelf) ClaimFailures(item string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures[item]
}

// requireEmpty checks that all claims have ended.
func (s *shelf) requireEmpty(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.ready)
	require.Empty(t, s.taken)
	require.Empty(t, s.failures)
}

func startSourcePool(t *testing.T, source worker.Source[string], o worker.Options[string]) *runningPool[string] {
	t.Helper()
	return startPoolOf(t, o, func(o worker.Options[string]) (*worker.Pool[string], error) {
		return worker.New(source, o)
	})
}

// Workers treat the items of a source like those of a queue.
func TestC49SourceOfAUser(t *testing.T) {
	var runs map[string]int
	handle := func(_ context.Context, item string) error {
		runs[item]++
		switch first := runs[item] == 1; {
		case item == "fails once" && first, item == "always fails":
			return errOnPurpose
		case item == "is requeued" && first:
			return worker.RequeueAfter(time.Minute)
		case item == "is discarded":
			return worker.Permanent(errOnPurpose)
		}
		return nil
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		runs = map[string]int{}
		shelf := newShelf("succeeds", "fails once", "always fails", "is requeued", "is discarded")
		o.MaxAttempts, o.Timeout, o.Labels = 3, time.Hour, true
		s := startSourcePool(t, shelf, o)
		synctest.Wait()
		require.Equal(t, map[string]int{"succeeds": 1, "fails once": 2, "always fails": 3, "is requeued": 2, "is discarded": 1}, runs)
		requireFailures(t, s.discarded, "is discarded 1: on purpose", "always fails 3: on purpose")
		require.Len(t, s.failed, 5)
		require.Empty(t, s.failed[0].Queue)
		shelf.requireEmpty(t)
		shelf.close()
		s.requireEnds(t)
	})
}

// A handler that does not return has failed, for the items of any source. A
// hook that panics ends the workers, and leaves no claim open.
func TestC51SourceBesidePanics(t *testing.T) {
	for _, fault := range []func(){func() { panic("on purpose") }, runtime.Goexit} {
		forEachForm(t, func(context.Context, string) error { return nil }, func(t *testing.T, o worker.Options[string]) {
			shelf := newShelf("a", "b", "c")
			o.MaxAttempts = 2
			if o.Handle != nil {
				o.Handle = func(context.Context, string) error { fault(); return nil }
			} else {
				o.HandleBatch = func(context.Context, []string) []error { fault(); return nil }
			}
			s := startSourcePool(t, shelf, o)
			synctest.Wait()
			require.Len(t, s.discarded, 3)
			shelf.requireEmpty(t)
			s.stopPool(t)
		})
	}
	for _, closed := range []bool{false, true} {
		forEachForm(t, failing[string](1000, errOnPurpose), func(t *testing.T, o worker.Options[string]) {
			shelf := newShelf("a", "b", "c")
			o.Workers, o.MaxAttempts = 1, 2
			reported := 0
			o.OnError = func(context.Context, worker.Failure[string]) {
				if closed {
					shelf.close() // so that ReturnClaim calls OnDiscard
				}
			}
			o.OnDiscard = func(context.Context, worker.Failure[string]) { reported++; panic(errOnPurpose) }
			w, err := worker.New(shelf, o)
			require.NoError(t, err)
			require.ErrorIs(t, panicOf(func() { _ = w.Run(t.Context()) }), errOnPurpose)
			require.Empty(t, shelf.taken)
			require.GreaterOrEqual(t, reported, 1)
		})
	}
}

// An item that a source refuses is reported once, with the reason, whether or
// not the source has called Refused.
func TestC50SourceThatRefuses(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for _, refusal := range []error{shardq.ErrShutDown, errors.New("no connection")} {
			for _, err := range []error{errOnPurpose, worker.RequeueAfter(time.Second)} {
				shelf := newShelf("a")
				handle := func(context.Context, string) error { shelf.close(); return err }
				forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
					shelf = newShelf("a")
					shelf.silent, shelf.refusal = silent, refusal
					s := startSourcePool(t, shelf, o)
					s.requireEnds(t)
					require.Len(t, s.discarded, 1)
					f := s.discarded[0]
					require.ErrorIs(t, f.Err, err)
					if silent {
						require.ErrorIs(t, f.Err, refusal)
					} else {
						require.ErrorIs(t, f.Err, shardq.ErrShutDown)
					}
					require.Equal(t, err != errOnPurpose, f.Requeued)
					require.True(t, f.Final)
					shelf.requireEmpty(t)
				})
			}
		}
	}
}

// A sourceFunc is a source that is a function.
type sourceFunc func(ctx context.Context, dst []worker.Claim[string]) (int, error)

func (f sourceFunc) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (int, error) {
	return f(ctx, dst)
}

// An error of a source ends all workers, and Run returns it. Run panics if a
// source does.
func TestC49SourceThatFails(t *testing.T) {
	forEachForm(t, succeed[string], func(t *testing.T, o worker.Options[string]) {
		shelf, fails := newShelf("a"), make(chan error)
		source := sourceFunc(func(ctx context.Context, dst []worker.Claim[string]) (int, error) {
			select {
			case err := <-fails:
				if err == nil {
					panic(errOnPurpose)
				}
				return 0, err
			default:
				return shelf.ClaimBatch(ctx, dst)
			}
		})
		o.Workers = 3
		var panicked *worker.PanicError
		var err error
		run := func() func() bool {
			w, fault := worker.New[string](source, o)
			require.NoError(t, fault)
			return returned(func() { panicked = panicOf(func() { err = w.Run(t.Context()) }) })
		}
		lost := errors.New("no connection")
		for _, cause := range []error{lost, nil} {
			ended := run()
			synctest.Wait()
			require.False(t, ended())
			go func() { fails <- cause }()
			synctest.Wait()
			shelf.change(func() { shelf.ready = append(shelf.ready, "b") })
			synctest.Wait()
			if !ended() { // the worker that took b continues
				shelf.change(func() {})
				synctest.Wait()
			}
			require.True(t, ended())
			if cause != nil {
				require.ErrorIs(t, err, lost)
				require.Nil(t, panicked)
			} else {
				require.ErrorIs(t, panicked, errOnPurpose)
			}
			shelf.requireEmpty(t)
		}
	})
}

// A source may return nothing, however often. Its workers call it again until
// they must leave, also if the source ignores the context.
func TestC49SourceThatHasNothing(t *testing.T) {
	forEachForm(t, succeed[string], func(t *testing.T, o worker.Options[string]) {
		var calls atomic.Int32
		source := sourceFunc(func(_ context.Context, dst []worker.Claim[string]) (int, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return 0, nil
		})
		s := startSourcePool(t, source, o)
		time.Sleep(10*time.Second + time.Millisecond)
		require.EqualValues(t, 11, calls.Load())
		s.stop()
		time.Sleep(time.Second)
		s.requireEnds(t)
	})
}

// New lists every fault.
func TestC49FaultsOfASource(t *testing.T) {
	_, err := worker.New[string](nil, worker.Options[string]{Handle: succeed[string]})
	require.ErrorContains(t, err, "worker: New was called without a source")
	require.ErrorContains(t, err, "Workers is 0")
}

// mergedQueues is a source that hands out the claims of several queues, and
// drains all.
type mergedQueues []*shardq.Queue[string]

func (m mergedQueues) Name() string { return "merged" }

// ClaimBatch tries the queues in turn, and again after a moment.
func (m mergedQueues) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (n int, err error) {
	for ctx.Err() == nil {
		open := 0
		for _, q := range m {
			for n < len(dst) {
				claim, ok := q.TryClaim()
				if !ok {
					break
				}
				dst[n] = claim
				n++
			}
			if s := q.Stats(); !q.ShuttingDown() || s.Held > 0 {
				open++
			}
		}
		switch {
		case n > 0:
			return n, nil
		case open == 0:
			return 0, shardq.ErrShutDown
		}
		time.Sleep(time.Millisecond)
	}
	return 0, ctx.Err()
}

func (m mergedQueues) drain(ctx context.Context) (dropped []string, err error) {
	all := make([][]string, len(m))
	errs := make([]error, len(m))
	var wait sync.WaitGroup
	for i, q := range m {
		wait.Go(func() { all[i], errs[i] = q.DrainWith(shardq.DrainOptions{})(ctx) })
	}
	wait.Wait()
	return slices.Concat(all...), errors.Join(errs...)
}

// Each claim of a source of two queues is settled in its own queue.
func TestC49SourceOfTwoQueues(t *testing.T) {
	handle := func(_ context.Context, item string) error {
		if item == "bad" {
			return errOnPurpose
		}
		return nil
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		log := &bytes.Buffer{}
		one := shardq.MustNew(shardq.Options[string]{Name: "one", Logger: slog.New(slog.NewTextHandler(log, nil)), RateLimiter: limiter.NewExponential[string](time.Second, time.Hour)})
		two := shardq.MustNew(shardq.Options[string]{Name: "two"})
		one.AddBatch([]string{"bad", "good"}, shardq.AddOptions{})
		two.AddBatch([]string{"good", "better"}, shardq.AddOptions{})
		one.AddAfter("late", time.Hour)
		two.AddAfter("late", time.Hour)
		o.MaxAttempts, o.Drain = 2, mergedQueues{one, two}.drain
		s := startSourcePool(t, mergedQueues{one, two}, o)
		time.Sleep(time.Minute)
		synctest.Wait()
		requireFailures(t, s.discarded, "bad 2: on purpose")
		require.Equal(t, "one", s.discarded[0].Queue)
		require.EqualValues(t, 1, one.Stats().Discarded)
		require.EqualValues(t, 0, two.Stats().Discarded)
		require.Contains(t, log.String(), "an item was discarded")
		require.Equal(t, 1, one.Stats().Held)
		s.stop()
		time.Sleep(time.Second)
		s.requireEnds(t)
		require.Len(t, s.discarded, 3)
		for _, f := range s.discarded[1:] {
			require.Equal(t, "late merged", f.Item+" "+f.Queue)
			require.ErrorIs(t, f.Err, shardq.ErrShutDown)
		}
		require.Zero(t, one.Stats().Held+two.Stats().Held)
	})
}

// A queue and a coalescer are sources themselves, and so is a struct that
// embeds one.
func TestC49QueueIsASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](2)
		source := struct{ *shardq.Queue[string] }{q}
		s := startSourcePool(t, source, worker.Options[string]{
			Workers: 2, MaxAttempts: 2, Drain: q.DrainWith(shardq.DrainOptions{}), DrainTimeout: time.Minute,
			Handle: func(_ context.Context, item string) error {
				if item == "slow" {
					time.Sleep(time.Hour)
				}
				return nil
			},
		})
		q.AddBatch([]string{"a", "b", "slow"}, shardq.AddOptions{})
		q.AddAfter("late", time.Hour)
		synctest.Wait()
		s.stop()
		time.Sleep(2 * time.Hour)
		requireBecomesTrue(t, s.ended)
		var left *shardq.DrainError[string]
		require.ErrorAs(t, s.err, &left)
		require.Empty(t, left.Left(), "it is what was left when the last worker had left")
		require.Zero(t, left.Processing)
		requireFailures(t, s.discarded, "late 0: shardq: queue is shut down: dropped while it was delayed")
	})
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		require.NoError(t, c.Put("a", "1"))
		require.NoError(t, c.Put("a", "2"))
		var taken []text
		w, err := worker.New[text](c, worker.Options[text]{
			Workers: 1, Drain: c.DrainWith(shardq.DrainOptions{}),
			Handle: func(_ context.Context, item text) error { taken = append(taken, item); return nil },
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := returned(func() { require.NoError(t, w.Run(ctx)) })
		synctest.Wait()
		stop()
		requireBecomesTrue(t, ended)
		require.Equal(t, []text{{Key: "a", Value: "12"}}, taken)
		requireNothing(t, c)
	})
}

// A drainSource drops an item, and then fails once.
type drainSource struct {
	*shelf
	trouble func()
	calls   int
}

func (s *drainSource) drain(context.Context) ([]string, error) {
	s.close()
	if s.calls++; s.calls == 1 {
		s.trouble()
	}
	return []string{"dropped"}, nil
}

// If Drain does not return, another call returns what it has dropped.
func TestC51DrainOfASourceThatPanics(t *testing.T) {
	for name, trouble := range map[string]func(){"panic": func() { panic(errOnPurpose) }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			source := &drainSource{shelf: newShelf(), trouble: trouble}
			var reported []string
			w, err := worker.New[string](source, worker.Options[string]{
				Workers: 1, Handle: succeed[string], Drain: source.drain,
				OnDiscard: func(_ context.Context, f worker.Failure[string]) { reported = append(reported, f.Item) },
			})
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			stop()
			panicked := panicOf(func() { _ = w.Run(ctx) })
			require.Equal(t, name == "panic", panicked != nil)
			require.Equal(t, []string{"dropped"}, reported)
			require.Equal(t, 2, source.calls)
		})
	}
}

// A slotSource notes which worker has which items.
type slotSource struct {
	*shelf
	mu     sync.Mutex
	opened int
	shown  map[int][]string
}

var _ worker.Slots[string] = (*slotSource)(nil)

func (w *slotSource) OpenSlot() (number int, show func([]string), closeSlot func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened++
	number = 10 * w.opened
	w.shown[number] = nil
	show = func(items []string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.shown[number] = slices.Clone(items)
	}
	closeSlot = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.shown, number)
	}
	return number, show, closeSlot
}

func TestC43SlotsOfASource(t *testing.T) {
	finish := make(chan struct{})
	forEachForm(t, func(context.Context, string) error { <-finish; return nil }, func(t *testing.T, o worker.Options[string]) {
		finish = make(chan struct{})
		slots := &slotSource{shelf: newShelf("a"), shown: map[int][]string{}}
		o.Labels = true
		s := startSourcePool(t, slots, o)
		synctest.Wait()
		require.Equal(t, map[int][]string{10: {"a"}}, slots.shown)
		require.Contains(t, goroutinesWithLabels(t), `"worker":"10"`)
		close(finish)
		synctest.Wait()
		require.Empty(t, slots.shown[10])
		s.stopPool(t)
		require.Empty(t, slots.shown)
	})
}

// A claim of a source has the values that NewClaim got.
func TestC60ClaimOfASource(t *testing.T) {
	shelf := newShelf("a")
	var claims [1]worker.Claim[string]
	n, err := shelf.ClaimBatch(t.Context(), claims[:])
	require.NoError(t, err)
	require.Equal(t, 1, n)
	claim := claims[0]
	require.Equal(t, "a", claim.Item)
	require.Equal(t, 7, claim.Priority)
	require.EqualValues(t, 101, claim.Fence())
	require.Equal(t, worker.Token{ID: 1, Fence: 101}, claim.Token())
	require.Same(t, shelf, claim.Owner())
	require.True(t, claim.Valid())
	require.NoError(t, claim.Retry())
	require.Equal(t, 1, claim.Failures())
	require.False(t, claim.Valid())
	require.ErrorIs(t, claim.Release(), worker.ErrClaimEnded)
	_, _ = shelf.ClaimBatch(t.Context(), claims[:])
	require.NoError(t, claims[0].Release())
	_, _ = shelf.ClaimBatch(t.Context(), claims[:])
	require.Equal(t, 1, claims[0].Failures())
	require.NoError(t, claims[0].RequeueAfter(time.Second))
	_, _ = shelf.ClaimBatch(t.Context(), claims[:])
	require.Zero(t, claims[0].Failures())
	require.NoError(t, claims[0].Done())
	shelf.requireEmpty(t)
}
