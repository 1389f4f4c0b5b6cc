package contract

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
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

// Workers treat the items of a source like those of a queue.
func TestC49SourceOfAUser(t *testing.T) {
	var runs map[string]int
	handle := func(ctx context.Context, item string) error {
		number, _ := pprof.Label(ctx, "worker")
		require.Equal(t, "1", number, "of the pool, because the source has no slots")
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
		s := startPool(t, shelf, o)
		synctest.Wait()
		require.Equal(t, map[string]int{"succeeds": 1, "fails once": 2, "always fails": 3, "is requeued": 2, "is discarded": 1}, runs)
		require.Len(t, s.discarded, 2)
		require.Equal(t, "always fails 3 exhausted", fmt.Sprint(s.discarded[1].Item, " ", s.discarded[1].Attempt, " ", s.discarded[1].Reason))
		require.Len(t, s.failed, 5)
		require.Empty(t, s.failed[0].Queue)
		shelf.requireEmpty(t)
		shelf.close()
		s.requireEnds(t)
	})
}

// A sourceFunc is a source that is a function.
type sourceFunc func(ctx context.Context, dst []worker.Claim[string]) (int, error)

func (f sourceFunc) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (int, error) {
	return f(ctx, dst)
}

// runSource runs workers until all goroutines are blocked, and then ends their
// context. It returns the panic or the error of Run.
func runSource(t *testing.T, source worker.Source[string], o worker.Options[string]) (panicked *worker.PanicError, err error) {
	t.Helper()
	o.Workers = max(o.Workers, 1)
	w, fault := worker.New(source, o)
	require.NoError(t, fault)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := returned(func() { panicked = panicOf(func() { err = w.Run(ctx) }) })
	synctest.Wait()
	stop()
	synctest.Wait()
	require.True(t, ended())
	require.Zero(t, w.Len())
	return panicked, err
}

// testSlots are Slots whose functions are those of a test.
type testSlots struct {
	worker.Source[string]
	open      func() int
	show      func(items []string)
	closeSlot func()
}

func (s *testSlots) OpenSlot() (number int, show func([]string), closeSlot func()) {
	if s.open != nil {
		number = s.open()
	}
	return number, s.show, s.closeSlot
}

// forEachEnd runs a test with a panic and with the end of the goroutine, in
// both forms.
func forEachEnd(t *testing.T, test func(t *testing.T, o worker.Options[string], isPanic bool, fault func())) {
	for _, isPanic := range []bool{true, false} {
		forEachForm(t, succeed[string], func(t *testing.T, o worker.Options[string]) {
			test(t, o, isPanic, func() {
				if isPanic {
					panic(errOnPurpose)
				}
				runtime.Goexit()
			})
		})
	}
}

// Run panics if OpenSlot or closeSlot does. If one of them ends its goroutine,
// Run does not panic.
func TestC51SlotThatDoesNotReturn(t *testing.T) {
	for _, at := range []string{"closeSlot", "OpenSlot", "second OpenSlot"} {
		forEachEnd(t, func(t *testing.T, o worker.Options[string], isPanic bool, fault func()) {
			shelf := newShelf("a")
			o.Workers = 2
			slots, opens := &testSlots{Source: shelf}, make(chan int, 3)
			opens <- 1
			slots.open = func() int {
				n := <-opens
				opens <- n + 1
				if at == "OpenSlot" || at == "second OpenSlot" && n == 2 {
					fault()
				}
				return n
			}
			if at == "closeSlot" {
				slots.closeSlot = fault
			}
			panicked, err := runSource(t, slots, o)
			require.NoError(t, err)
			require.Equal(t, isPanic, panicked != nil)
			if isPanic {
				require.ErrorIs(t, panicked, errOnPurpose)
			}
			require.Empty(t, shelf.taken)
			require.Equal(t, 3, <-opens, "an OpenSlot that does not return is not called again")
		})
	}
}

// If show does not return before the handler, that counts as the handler's end.
// Afterwards it changes nothing for the items. Neither abandons a handler.
func TestC51ShowThatDoesNotReturn(t *testing.T) {
	for _, before := range []bool{true, false} {
		for _, after := range []time.Duration{0, time.Hour} {
			forEachEnd(t, func(t *testing.T, o worker.Options[string], isPanic bool, fault func()) {
				shelf, shown, discarded := newShelf("a"), false, 0
				slots := &testSlots{Source: shelf, show: func(items []string) {
					if len(items) > 0 == before && !shown {
						shown = true
						fault()
					}
				}}
				o.AbandonAfter, o.MaxAttempts = after, 1
				o.OnDiscard = func(context.Context, worker.Failure[string]) { discarded++ }
				panicked, err := runSource(t, slots, o)
				require.NoError(t, err)
				require.Equal(t, isPanic && !before, panicked != nil)
				require.Equal(t, before, discarded == 1)
				shelf.requireEmpty(t)
			})
		}
	}
}

// A strict shelf fails to end claims.
type strict struct {
	*shelf
	fails func() error
}

func (s strict) DoneClaim(item string, token worker.Token) error {
	return errors.Join(s.shelf.DoneClaim(item, token), s.fails())
}

func (s strict) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (n int, err error) {
	n, err = s.shelf.ClaimBatch(ctx, dst)
	for i, c := range dst[:n] {
		dst[i] = worker.NewClaim[string](c.Item, c.Priority, s, c.Token())
	}
	return n, err
}

// A batcher is a strict shelf that ends claims together, or does not.
type batcher struct{ strict }

func (s batcher) DoneClaims([]worker.Claim[string]) error { return s.fails() }

// Run returns the error of ending a claim.
func TestC49ErrorAtTheEndOfAClaim(t *testing.T) {
	for _, outcome := range []error{nil, worker.Permanent(errOnPurpose)} {
		forEachForm(t, failing[string](1000, outcome), func(t *testing.T, o worker.Options[string]) {
			lost := errors.New("no connection")
			shelf := newShelf("a")
			panicked, err := runSource(t, strict{shelf, func() error { return lost }}, o)
			require.ErrorIs(t, err, lost)
			require.Nil(t, panicked)
			shelf.requireEmpty(t)
		})
	}
	forEachForm(t, succeed[string], func(t *testing.T, o worker.Options[string]) {
		_, err := runSource(t, strict{newShelf("a"), func() error { return worker.ErrClaimEnded }}, o)
		require.NoError(t, err)
	})
}

// If DoneClaims fails in any way, the claims end one by one. The first error
// counts.
func TestC51DoneClaimsThatFails(t *testing.T) {
	lost, later := errors.New("no connection"), errors.New("still no connection")
	for name, fault := range map[string]func() error{
		"error": func() error { return lost }, "panic": func() error { panic(lost) },
		"Goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shelf, calls := newShelf("a", "b", "c"), 0
				source := batcher{strict{shelf, func() error {
					if calls++; calls == 1 {
						return fault()
					}
					return later
				}}}
				panicked, err := runSource(t, source, worker.Options[string]{
					BatchSize: 3, HandleBatch: func(context.Context, []string) []error { return nil },
				})
				require.Equal(t, [2]bool{name == "error", name == "Goexit"}, [2]bool{errors.Is(err, lost), errors.Is(err, later)})
				require.Equal(t, name == "panic", panicked != nil)
				shelf.requireEmpty(t)
			})
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
					s := startPool(t, shelf, o)
					s.requireEnds(t)
					all := append(s.discarded, s.leftover...)
					require.Len(t, all, 1)
					f := all[0]
					require.Equal(t, f.Reason == worker.ReasonShutDown, len(s.leftover) == 1)
					require.ErrorIs(t, f.Err, err)
					require.Equal(t, !silent || refusal == shardq.ErrShutDown, f.Reason == worker.ReasonShutDown)
					require.Equal(t, err != errOnPurpose, f.Requeued)
					shelf.requireEmpty(t)
				})
			}
		}
	}
}

// Run returns an error that describes the fault of a source's claims. None of
// them stays open, and none is handled.
func TestC49SourceThatMiscounts(t *testing.T) {
	for _, miscount := range []func(n int, dst []worker.Claim[string]) int{
		func(int, []worker.Claim[string]) int { return -1 },
		func(_ int, dst []worker.Claim[string]) int { return len(dst) + 1 },
		func(n int, dst []worker.Claim[string]) int { clear(dst[n:]); return len(dst) },
	} {
		for lingers := range 2 { // claims, before it miscounts
			synctest.Test(t, func(t *testing.T) {
				shelf, calls, handled := newShelf([]string{"a", "b"}[:1+lingers]...), 0, 0
				source := sourceFunc(func(ctx context.Context, dst []worker.Claim[string]) (int, error) {
					if calls++; calls == 1 && lingers > 0 {
						return shelf.ClaimBatch(ctx, dst[:1])
					}
					n, err := shelf.ClaimBatch(ctx, dst[:1])
					require.NoError(t, err)
					return miscount(n, dst), nil
				})
				_, err := runSource(t, source, worker.Options[string]{
					BatchSize: 2 + lingers, Linger: time.Hour * time.Duration(lingers),
					HandleBatch: func(_ context.Context, items []string) []error { handled += len(items); return nil },
				})
				require.ErrorContains(t, err, "worker: Source.ClaimBatch returned")
				require.Equal(t, lingers, handled)
				require.Empty(t, shelf.taken)
				require.Equal(t, []string{"a", "b"}[lingers:1+lingers], shelf.ready)
			})
		}
	}
	nothing := sourceFunc(func(context.Context, []worker.Claim[string]) (int, error) { return 1, nil })
	synctest.Test(t, func(t *testing.T) {
		_, err := runSource(t, nothing, worker.Options[string]{Handle: succeed[string]})
		require.ErrorContains(t, err, "a zero Claim")
	})
}

// A forgetter cannot say how often an item failed.
type forgetter struct {
	sourceFunc
	forgotten *[]string
}

func (f forgetter) NumRequeues(string) int { panic(errOnPurpose) }
func (f forgetter) Forget(item string)     { *f.forgotten = append(*f.forgotten, item) }

// OnLeftover is called for each dropped item, even if the source panics for it.
func TestC51PanicOfAHistory(t *testing.T) {
	var left, forgotten []string
	ctx, stop := context.WithCancel(t.Context())
	stop()
	source := forgetter{func(ctx context.Context, _ []worker.Claim[string]) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}, &forgotten}
	o := worker.Options[string]{
		Handle:     succeed[string],
		Drain:      func(context.Context) ([]string, error) { return []string{"a", "b"}, nil },
		OnLeftover: func(_ context.Context, f worker.Failure[string]) { left = append(left, f.Item) },
	}
	require.Panics(t, func() { _ = runPool(ctx, t, source, o) })
	require.ElementsMatch(t, []string{"a", "b"}, left)
	require.ElementsMatch(t, []string{"a", "b"}, forgotten)
}

// A batch that lingers is given back if the source panics or ends the goroutine.
func TestC51SourceThatDoesNotReturn(t *testing.T) {
	for _, end := range []func(){func() { panic(errOnPurpose) }, runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			shelf, calls := newShelf("a"), 0
			source := sourceFunc(func(ctx context.Context, dst []worker.Claim[string]) (int, error) {
				if calls++; calls == 2 {
					end()
				}
				return shelf.ClaimBatch(ctx, dst)
			})
			_, _ = runSource(t, source, worker.Options[string]{
				BatchSize: 2, Linger: time.Minute, HandleBatch: func(context.Context, []string) []error { return nil },
			})
			require.Equal(t, []string{"a"}, shelf.ready)
		})
	}
}
