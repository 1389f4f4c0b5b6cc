package contract

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// testSlots are Slots whose functions are those of a test.
type testSlots struct {
	worker.Source[string]
	open      func() int
	show      func(items []string)
	closeSlot func()
}

var _ worker.Slots[string] = (*testSlots)(nil)

func (s *testSlots) OpenSlot() (number int, show func([]string), closeSlot func()) {
	if s.open != nil {
		number = s.open()
	}
	return number, s.show, s.closeSlot
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

// The call of show before the handler is part of the attempt, and fails like
// the handler.
func TestC51ShowThatDoesNotReturn(t *testing.T) {
	forEachEnd(t, func(t *testing.T, o worker.Options[string], isPanic bool, fault func()) {
		shelf := newShelf("a", "b", "c")
		o.MaxAttempts = 2
		var failed, discarded []worker.Failure[string]
		o.OnError = func(_ context.Context, f worker.Failure[string]) { failed = append(failed, f) }
		o.OnDiscard = func(_ context.Context, f worker.Failure[string]) { discarded = append(discarded, f) }
		panicked, err := runSource(t, &testSlots{Source: shelf, show: func(items []string) {
			if len(items) > 0 {
				fault()
			}
		}}, o)
		require.NoError(t, err)
		require.Nil(t, panicked)
		require.Len(t, failed, 6)
		require.Len(t, discarded, 3)
		for _, f := range discarded {
			if isPanic {
				require.ErrorIs(t, f.Err, errOnPurpose)
			} else {
				require.ErrorIs(t, f.Err, worker.ErrGoexit)
			}
		}
		shelf.requireEmpty(t)
	})
}

// Whatever the last call of show does, the claims of the handled items end.
func TestC51ShowOfNothingThatDoesNotReturn(t *testing.T) {
	forEachEnd(t, func(t *testing.T, o worker.Options[string], isPanic bool, fault func()) {
		shelf := newShelf("a")
		panicked, err := runSource(t, &testSlots{Source: shelf, show: func(items []string) {
			if len(items) == 0 {
				fault()
			}
		}}, o)
		require.NoError(t, err)
		require.Equal(t, isPanic, panicked != nil)
		shelf.requireEmpty(t)
	})
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

// An OpenSlot may call the pool, and return no functions.
func TestC43OpenSlotUsesThePool(t *testing.T) {
	forEachForm(t, succeed[string], func(t *testing.T, o worker.Options[string]) {
		shelf := newShelf("a")
		slots := &testSlots{Source: shelf}
		o.Workers = 1
		w, err := worker.New[string](slots, o)
		require.NoError(t, err)
		slots.open = func() int {
			w.Resize(2)
			return w.Len()
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := returned(func() { require.NoError(t, w.Run(ctx)) })
		synctest.Wait()
		require.Equal(t, 2, w.Len())
		stop()
		requireBecomesTrue(t, ended)
		shelf.requireEmpty(t)
	})
}

// A borrower embeds a queue, and hands out the items of a second one as well.
type borrower struct {
	*shardq.Queue[string]
	second *shardq.Queue[string]
}

func (b borrower) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (n int, err error) {
	for n < len(dst) {
		claim, ok := b.second.TryClaim()
		if !ok {
			break
		}
		dst[n] = claim
		n++
	}
	if n > 0 && n == len(dst) {
		return n, nil
	}
	claim, ok := b.TryClaim()
	switch {
	case ok:
		dst[n] = claim
		return n + 1, nil
	case n > 0:
		return n, nil
	}
	return b.Queue.ClaimBatch(ctx, dst)
}

// The claims of a batch end, whatever their owners.
func TestC49ClaimsThatDoneClaimsLeavesOpen(t *testing.T) {
	forEachForm(t, succeed[string], func(t *testing.T, o worker.Options[string]) {
		one, two := newQueue[string](1), newQueue[string](1)
		one.AddBatch([]string{"a", "b"}, shardq.AddOptions{})
		two.AddBatch([]string{"c", "d"}, shardq.AddOptions{})
		panicked, err := runSource(t, borrower{one, two}, o)
		require.NoError(t, err)
		require.Nil(t, panicked)
		require.Zero(t, one.Stats().Held+two.Stats().Held)
	})
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

// If DoneClaims fails in any way, the claims end one by one.
func TestC51DoneClaimsThatFails(t *testing.T) {
	lost := errors.New("no connection")
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
					return nil
				}}}
				panicked, err := runSource(t, source, worker.Options[string]{
					BatchSize: 3, HandleBatch: func(context.Context, []string) []error { return nil },
				})
				require.Equal(t, name == "error", errors.Is(err, lost))
				require.Equal(t, name == "panic", panicked != nil)
				shelf.requireEmpty(t)
			})
		})
	}
}

// An error of a source is not lost if the context ends as well.
func TestC49SourceThatFailsAtTheEnd(t *testing.T) {
	fire := errors.New("disk on fire")
	wrapped := func(ctx context.Context) error { return errors.Join(errOnPurpose, ctx.Err()) }
	forEachForm(t, succeed[string], func(t *testing.T, o worker.Options[string]) {
		for _, failure := range []func(context.Context) error{func(context.Context) error { return fire }, wrapped, context.Cause} {
			source := sourceFunc(func(ctx context.Context, _ []worker.Claim[string]) (int, error) {
				<-ctx.Done()
				return 0, failure(ctx)
			})
			want := fire
			if failure(t.Context()) == nil || !errors.Is(failure(t.Context()), fire) {
				want = nil
			}
			panicked, err := runSource(t, source, o)
			require.Nil(t, panicked)
			require.ErrorIs(t, err, want)

			o.Workers = 1
			w, err := worker.New[string](source, o)
			require.NoError(t, err)
			because := errors.New("because")
			ctx, stop := context.WithCancelCause(t.Context())
			ended := returned(func() { err = w.Run(ctx) })
			synctest.Wait()
			w.Resize(0)
			synctest.Wait()
			require.Equal(t, want != nil, ended(), "the only worker was sent away")
			stop(because)
			requireBecomesTrue(t, ended)
			require.ErrorIs(t, err, want)
		}
	})
}

// Run returns an error that describes the fault of a source's claims. None of
// them stays open, and none is handled.
func TestC49SourceThatMiscounts(t *testing.T) {
	for name, miscount := range map[string]func(n int, dst []worker.Claim[string]) int{
		"-1":   func(int, []worker.Claim[string]) int { return -1 },
		"more": func(_ int, dst []worker.Claim[string]) int { return len(dst) + 1 },
		"zero": func(n int, dst []worker.Claim[string]) int { clear(dst[n:]); return len(dst) },
		"none": func(_ int, dst []worker.Claim[string]) int {
			_ = dst[0].Release()
			dst[0] = worker.Claim[string]{Item: "a"}
			return 1
		},
	} {
		for _, ending := range []error{nil, shardq.ErrShutDown} {
			t.Run(name, func(t *testing.T) {
				forEachForm(t, succeed[string], func(t *testing.T, o worker.Options[string]) {
					if name == "zero" && o.Handle != nil {
						return // two do not fit
					}
					shelf := newShelf("a")
					o.Handle, o.HandleBatch = orNothing(t, o)
					source := sourceFunc(func(ctx context.Context, dst []worker.Claim[string]) (int, error) {
						n, err := shelf.ClaimBatch(ctx, dst)
						require.NoError(t, err)
						return miscount(n, dst), ending
					})
					panicked, err := runSource(t, source, o)
					require.Nil(t, panicked)
					require.ErrorContains(t, err, "worker: Source.ClaimBatch returned")
					require.Empty(t, shelf.taken)
					require.Equal(t, []string{"a"}, shelf.ready)
				})
			})
		}
	}
}

// orNothing returns handlers of the same form that must not be called.
func orNothing(t *testing.T, o worker.Options[string]) (func(context.Context, string) error, func(context.Context, []string) []error) {
	if o.Handle != nil {
		return func(context.Context, string) error { t.Error("handled"); return nil }, nil
	}
	return nil, func(context.Context, []string) []error { t.Error("handled"); return nil }
}

// Claims that are returned with an error are processed, like the bytes of an
// io.Reader. Then the error counts.
func TestC49ClaimsBesideAnError(t *testing.T) {
	lost := errors.New("no connection")
	for _, beside := range []error{lost, shardq.ErrShutDown} {
		for _, ends := range []bool{false, true} { // whether the handler ends its goroutine
			handled := 0
			handle := func(context.Context, string) error {
				if handled++; ends && handled == 1 {
					runtime.Goexit()
				}
				return nil
			}
			forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
				handled = 0
				shelf, calls := newShelf("a"), 0
				source := sourceFunc(func(ctx context.Context, dst []worker.Claim[string]) (n int, err error) {
					n, err = shelf.ClaimBatch(ctx, dst)
					if calls++; calls == 1 {
						return n, beside
					}
					return n, err
				})
				panicked, err := runSource(t, source, o)
				require.Nil(t, panicked)
				require.Empty(t, shelf.taken)
				require.GreaterOrEqual(t, handled, 1)
				if beside == lost {
					require.ErrorIs(t, err, lost)
					return
				}
				require.NoError(t, err)
				shelf.requireEmpty(t) // also of items that failed and ran again
			})
		}
	}
}

// A nameless owner of claims panics in Name.
type nameless struct{ *shelf }

func (s nameless) Name() string { panic(errOnPurpose) }

// No item is lost if Name of its owner panics.
func TestC51NameThatPanics(t *testing.T) {
	forEachForm(t, failing[string](1000, errOnPurpose), func(t *testing.T, o worker.Options[string]) {
		shelf := newShelf("a")
		source := sourceFunc(func(ctx context.Context, dst []worker.Claim[string]) (n int, err error) {
			n, err = shelf.ClaimBatch(ctx, dst)
			for i, c := range dst[:n] {
				dst[i] = worker.NewClaim[string](c.Item, c.Priority, nameless{shelf}, c.Token())
			}
			return n, err
		})
		panicked, _ := runSource(t, source, o)
		require.ErrorIs(t, panicked, errOnPurpose)
		require.Empty(t, shelf.taken)
		require.Equal(t, []string{"a"}, shelf.ready)
	})
}

// A nil queue or coalescer is no source.
func TestC49NilSources(t *testing.T) {
	o := worker.Options[string]{Workers: 1, Handle: succeed[string]}
	for _, source := range []worker.Source[string]{nil, (*shardq.Queue[string])(nil), struct{ *shardq.Queue[string] }{}} {
		_, err := worker.New(source, o)
		require.ErrorContains(t, err, "worker: New was called with")
	}
	_, err := worker.New[text]((*coalesce.Coalescer[string, string])(nil),
		worker.Options[text]{Workers: 1, Handle: func(context.Context, text) error { return nil }})
	require.ErrorContains(t, err, "worker: New was called with")
}
