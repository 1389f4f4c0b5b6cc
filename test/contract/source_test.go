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
)

// A shelf is a Source as a user writes one, with nothing but what it needs: items that
// come first-in, first-out, and again at once if they fail.
type shelf struct {
	mu       sync.Mutex
	ready    []string
	taken    map[uint64]string // by the claims' tokens
	failures map[string]int
	hands    uint64 // how many claims there ever were
	closed   bool
	changed  chan struct{}
	// refusal is what a shelf that is closed returns for what is to come again. With
	// silent, it does not call Refused.
	refusal error
	silent  bool
}

func newShelf(items ...string) *shelf {
	return &shelf{
		ready: items, taken: map[uint64]string{}, failures: map[string]int{},
		changed: make(chan struct{}), refusal: shardq.ErrShutDown,
	}
}

// change changes the shelf, and wakes all who wait.
func (s *shelf) change(to func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *shelf) close() { s.change(func() { s.closed = true }) }

func (s *shelf) ClaimBatch(ctx context.Context, dst []shardq.Claim[string]) (n int, err error) {
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

func (s *shelf) claimNow(dst []shardq.Claim[string]) (n int, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n < len(dst) && len(s.ready) > 0 {
		item := s.ready[0]
		s.ready = s.ready[1:]
		s.hands++
		s.taken[s.hands] = item
		dst[n] = shardq.NewClaim(item, 7, s, shardq.ClaimToken{ID: s.hands, Fence: 100 + s.hands})
		n++
	}
	if n == 0 && s.closed && len(s.taken) == 0 {
		return 0, nil, fmt.Errorf("the shelf is empty: %w", shardq.ErrShutDown)
	}
	return n, s.changed, nil
}

// end ends a claim, and then does what is to come of the item.
func (s *shelf) end(token shardq.ClaimToken, then func()) (err error) {
	s.change(func() {
		if _, valid := s.taken[token.ID]; !valid {
			err = shardq.ErrClaimEnded
			return
		}
		delete(s.taken, token.ID)
		then()
	})
	return err
}

func (s *shelf) DoneClaim(item string, token shardq.ClaimToken) error {
	return s.end(token, func() { delete(s.failures, item) })
}

func (s *shelf) ReturnClaim(item string, token shardq.ClaimToken, how shardq.ClaimReturn) error {
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
		case shardq.ReturnRetry:
			s.failures[item]++
		case shardq.ReturnRequeue:
			delete(s.failures, item)
		}
		s.ready = append(s.ready, item)
	})
}

func (s *shelf) ClaimValid(token shardq.ClaimToken) bool {
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

func employSource(t *testing.T, source shardq.Source[string], o shardq.WorkerOptions[string]) *staff[string] {
	t.Helper()
	return employFor(t, o, func(o shardq.WorkerOptions[string]) (*shardq.Workers[string], error) {
		return shardq.NewSourceWorkers(source, o)
	})
}

// Workers do with the items of a source what they do with those of a queue.
func TestC49SourceOfAUser(t *testing.T) {
	var runs map[string]int
	handle := func(_ context.Context, item string) error {
		runs[item]++
		switch first := runs[item] == 1; {
		case item == "fails once" && first, item == "always fails":
			return errOnPurpose
		case item == "is requeued" && first:
			return shardq.RequeueAfter(time.Minute)
		case item == "is given up":
			return shardq.Permanent(errOnPurpose)
		}
		return nil
	}
	forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
		runs = map[string]int{}
		shelf := newShelf("succeeds", "fails once", "always fails", "is requeued", "is given up")
		o.MaxAttempts, o.Timeout, o.Labels = 3, time.Hour, true
		s := employSource(t, shelf, o)
		synctest.Wait()
		require.Equal(t, map[string]int{"succeeds": 1, "fails once": 2, "always fails": 3, "is requeued": 2, "is given up": 1}, runs)
		requireFailures(t, s.givenUp, "is given up 1: on purpose", "always fails 3: on purpose")
		require.Len(t, s.failed, 5)
		require.Empty(t, s.failed[0].Queue)
		shelf.requireEmpty(t)
		shelf.close()
		s.requireEnds(t)
	})
}

// What a handler does not return is a failure, for the items of any source, and a hook that
// panics ends the workers, but leaves no claim behind.
func TestC51SourceBesidePanics(t *testing.T) {
	for _, fault := range []func(){func() { panic("on purpose") }, runtime.Goexit} {
		forEachForm(t, func(context.Context, string) error { return nil }, func(t *testing.T, o shardq.WorkerOptions[string]) {
			shelf := newShelf("a", "b", "c")
			o.MaxAttempts = 2
			if o.Handle != nil {
				o.Handle = func(context.Context, string) error { fault(); return nil }
			} else {
				o.HandleBatch = func(context.Context, []string) []error { fault(); return nil }
			}
			s := employSource(t, shelf, o)
			synctest.Wait()
			require.Len(t, s.givenUp, 3)
			shelf.requireEmpty(t)
			s.dismiss(t)
		})
	}
	for _, closed := range []bool{false, true} {
		forEachForm(t, failing[string](1000, errOnPurpose), func(t *testing.T, o shardq.WorkerOptions[string]) {
			shelf := newShelf("a", "b", "c")
			o.Workers, o.MaxAttempts = 1, 2
			told := 0
			o.OnError = func(shardq.Failure[string]) {
				if closed {
					shelf.close() // so that OnGiveUp is called by ReturnClaim
				}
			}
			o.OnGiveUp = func(shardq.Failure[string]) { told++; panic(errOnPurpose) }
			w, err := shardq.NewSourceWorkers(shelf, o)
			require.NoError(t, err)
			require.ErrorIs(t, panicOf(func() { _ = w.Run(t.Context()) }), errOnPurpose)
			require.Empty(t, shelf.taken)
			require.GreaterOrEqual(t, told, 1)
		})
	}
}

// What a source cannot take back is told of once, with its reason, whether or not the source
// has called Refused.
func TestC50SourceThatRefuses(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for _, refusal := range []error{shardq.ErrShutDown, errors.New("no connection")} {
			for _, err := range []error{errOnPurpose, shardq.RequeueAfter(time.Second)} {
				shelf := newShelf("a")
				handle := func(context.Context, string) error { shelf.close(); return err }
				forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
					shelf = newShelf("a")
					shelf.silent, shelf.refusal = silent, refusal
					s := employSource(t, shelf, o)
					s.requireEnds(t)
					require.Len(t, s.givenUp, 1)
					f := s.givenUp[0]
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
type sourceFunc func(ctx context.Context, dst []shardq.Claim[string]) (int, error)

func (f sourceFunc) ClaimBatch(ctx context.Context, dst []shardq.Claim[string]) (int, error) {
	return f(ctx, dst)
}

// An error of a source ends all workers, and Run returns it; a panic of one is that of Run.
func TestC49SourceThatFails(t *testing.T) {
	forEachForm(t, succeed[string], func(t *testing.T, o shardq.WorkerOptions[string]) {
		shelf, fails := newShelf("a"), make(chan error)
		source := sourceFunc(func(ctx context.Context, dst []shardq.Claim[string]) (int, error) {
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
		var panicked *shardq.PanicError
		var err error
		run := func() func() bool {
			w, fault := shardq.NewSourceWorkers[string](source, o)
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
			if !ended() { // the worker that took b goes on
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

// A source may come back with nothing, however often: its workers ask again until they are to
// leave, also if the source does not look at the context.
func TestC49SourceThatHasNothing(t *testing.T) {
	forEachForm(t, succeed[string], func(t *testing.T, o shardq.WorkerOptions[string]) {
		var calls atomic.Int32
		source := sourceFunc(func(_ context.Context, dst []shardq.Claim[string]) (int, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return 0, nil
		})
		s := employSource(t, source, o)
		time.Sleep(10*time.Second + time.Millisecond)
		require.EqualValues(t, 11, calls.Load())
		s.stop()
		time.Sleep(time.Second)
		s.requireEnds(t)
	})
}

// NewSourceWorkers lists what a source lacks.
func TestC49FaultsOfASource(t *testing.T) {
	o := shardq.WorkerOptions[string]{Workers: 1, Handle: succeed[string], Drain: &shardq.DrainOptions{}}
	_, err := shardq.NewSourceWorkers[string](newShelf(), o)
	require.EqualError(t, err, "shardq: WorkerOptions.Drain is set: want a Source that is a Drainer")
	o.Workers = 0
	_, err = shardq.NewSourceWorkers[string](nil, o)
	require.ErrorContains(t, err, "shardq: NewSourceWorkers was called without a source")
	require.ErrorContains(t, err, "Workers is 0")
}

// A merged source hands out the claims of several queues, and drains all.
type merged []*shardq.Queue[string]

func (m merged) Name() string { return "merged" }

// ClaimBatch asks the queues in turn. For a test, it may look again after a moment.
func (m merged) ClaimBatch(ctx context.Context, dst []shardq.Claim[string]) (n int, err error) {
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

func (m merged) Drain(ctx context.Context, o shardq.DrainOptions) (dropped []string, err error) {
	all := make([][]string, len(m))
	errs := make([]error, len(m))
	var wait sync.WaitGroup
	for i, q := range m {
		wait.Go(func() { all[i], errs[i] = q.Drain(ctx, o) })
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
	forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
		log := &bytes.Buffer{}
		one := shardq.Must(shardq.Options[string]{Name: "one", Logger: slog.New(slog.NewTextHandler(log, nil)), RateLimiter: limiter.NewExponential[string](time.Second, time.Hour)})
		two := shardq.Must(shardq.Options[string]{Name: "two"})
		one.AddBatch([]string{"bad", "good"})
		two.AddBatch([]string{"good", "better"})
		one.AddAfter("late", time.Hour)
		two.AddAfter("late", time.Hour)
		o.MaxAttempts, o.Drain = 2, &shardq.DrainOptions{Waiting: shardq.DropWaiting}
		s := employSource(t, merged{one, two}, o)
		time.Sleep(time.Minute)
		synctest.Wait()
		requireFailures(t, s.givenUp, "bad 2: on purpose")
		require.Equal(t, "one", s.givenUp[0].Queue)
		require.EqualValues(t, 1, one.Stats().GivenUp)
		require.EqualValues(t, 0, two.Stats().GivenUp)
		require.Contains(t, log.String(), "an item was given up")
		require.Equal(t, 1, one.Stats().Held)
		s.stop()
		time.Sleep(time.Second)
		s.requireEnds(t)
		require.Len(t, s.givenUp, 3)
		for _, f := range s.givenUp[1:] {
			require.Equal(t, "late merged", f.Item+" "+f.Queue)
			require.ErrorIs(t, f.Err, shardq.ErrShutDown)
		}
		require.Zero(t, one.Stats().Held+two.Stats().Held)
	})
}

// A queue and a coalescer are sources themselves, and so is a struct that embeds one.
func TestC49QueueIsASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](2)
		source := struct{ *shardq.Queue[string] }{q}
		s := employSource(t, source, shardq.WorkerOptions[string]{
			Workers: 2, MaxAttempts: 2, Drain: &shardq.DrainOptions{}, DrainTimeout: time.Minute,
			Handle: func(_ context.Context, item string) error {
				if item == "slow" {
					time.Sleep(time.Hour)
				}
				return nil
			},
		})
		q.AddBatch([]string{"a", "b", "slow"})
		q.AddAfter("late", time.Hour)
		synctest.Wait()
		s.stop()
		time.Sleep(2 * time.Hour)
		requireBecomesTrue(t, s.ended)
		var left *shardq.DrainError[string]
		require.ErrorAs(t, s.err, &left)
		require.Empty(t, left.Left(), "it is what was left when the last worker had left")
		require.Zero(t, left.Processing)
		requireFailures(t, s.givenUp, "late 0: shardq: queue is shut down: dropped while it waited for its delay")
	})
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		require.NoError(t, c.Put("a", "1"))
		require.NoError(t, c.Put("a", "2"))
		var taken []text
		w, err := shardq.NewSourceWorkers[text](c, shardq.WorkerOptions[text]{
			Workers: 1, Drain: &shardq.DrainOptions{},
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

// A drainSource drops an item, and then has trouble, once.
type drainSource struct {
	*shelf
	trouble func()
	calls   int
}

func (s *drainSource) Drain(context.Context, shardq.DrainOptions) ([]string, error) {
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
			var told []string
			w, err := shardq.NewSourceWorkers[string](source, shardq.WorkerOptions[string]{
				Workers: 1, Handle: succeed[string], Drain: &shardq.DrainOptions{},
				OnGiveUp: func(f shardq.Failure[string]) { told = append(told, f.Item) },
			})
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			stop()
			panicked := panicOf(func() { _ = w.Run(ctx) })
			require.Equal(t, name == "panic", panicked != nil)
			require.Equal(t, []string{"dropped"}, told)
			require.Equal(t, 2, source.calls)
		})
	}
}

// A workplace is told which worker has which items.
type workplace struct {
	*shelf
	mu    sync.Mutex
	hired int
	shown map[int][]string
}

func (w *workplace) Hire() (number int, show func([]string), leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hired++
	number = 10 * w.hired
	w.shown[number] = nil
	show = func(items []string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.shown[number] = slices.Clone(items)
	}
	leave = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.shown, number)
	}
	return number, show, leave
}

func TestC43WorkplaceOfASource(t *testing.T) {
	finish := make(chan struct{})
	forEachForm(t, func(context.Context, string) error { <-finish; return nil }, func(t *testing.T, o shardq.WorkerOptions[string]) {
		finish = make(chan struct{})
		place := &workplace{shelf: newShelf("a"), shown: map[int][]string{}}
		o.Labels = true
		s := employSource(t, place, o)
		synctest.Wait()
		require.Equal(t, map[int][]string{10: {"a"}}, place.shown)
		require.Contains(t, goroutinesWithLabels(t), `"worker":"10"`)
		close(finish)
		synctest.Wait()
		require.Empty(t, place.shown[10])
		s.dismiss(t)
		require.Empty(t, place.shown)
	})
}

// What a claim of a source is made of.
func TestC60ClaimOfASource(t *testing.T) {
	shelf := newShelf("a")
	var claims [1]shardq.Claim[string]
	n, err := shelf.ClaimBatch(t.Context(), claims[:])
	require.NoError(t, err)
	require.Equal(t, 1, n)
	claim := claims[0]
	require.Equal(t, "a", claim.Item)
	require.Equal(t, 7, claim.Priority)
	require.EqualValues(t, 101, claim.Fence())
	require.Equal(t, shardq.ClaimToken{ID: 1, Fence: 101}, claim.Token())
	require.Same(t, shelf, claim.Owner())
	require.True(t, claim.Valid())
	require.NoError(t, claim.Retry())
	require.Equal(t, 1, claim.Failures())
	require.False(t, claim.Valid())
	require.ErrorIs(t, claim.Release(), shardq.ErrClaimEnded)
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
