package contract

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// A desk is a Workplace whose functions are a test's.
type desk struct {
	shardq.Source[string]
	hire  func() int
	show  func(items []string)
	leave func()
}

func (d *desk) Hire() (number int, show func([]string), leave func()) {
	if d.hire != nil {
		number = d.hire()
	}
	return number, d.show, d.leave
}

// runSource runs workers until all is at rest, and then ends their context. It returns how
// Run has ended.
func runSource(t *testing.T, source shardq.Source[string], o shardq.WorkerOptions[string]) (panicked *shardq.PanicError, err error) {
	t.Helper()
	o.Workers = max(o.Workers, 1)
	w, fault := shardq.NewSourceWorkers(source, o)
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

// forEachEnd runs a test with a panic and with the end of the goroutine, in both forms.
func forEachEnd(t *testing.T, test func(t *testing.T, o shardq.WorkerOptions[string], isPanic bool, fault func())) {
	for _, isPanic := range []bool{true, false} {
		forEachForm(t, succeed[string], func(t *testing.T, o shardq.WorkerOptions[string]) {
			test(t, o, isPanic, func() {
				if isPanic {
					panic(errOnPurpose)
				}
				runtime.Goexit()
			})
		})
	}
}

// To show what is about to be processed is part of the attempt, and fails like the handler.
func TestC51ShowThatDoesNotReturn(t *testing.T) {
	forEachEnd(t, func(t *testing.T, o shardq.WorkerOptions[string], isPanic bool, fault func()) {
		shelf := newShelf("a", "b", "c")
		o.MaxAttempts = 2
		var failed, givenUp []shardq.Failure[string]
		o.OnError = func(f shardq.Failure[string]) { failed = append(failed, f) }
		o.OnGiveUp = func(f shardq.Failure[string]) { givenUp = append(givenUp, f) }
		panicked, err := runSource(t, &desk{Source: shelf, show: func(items []string) {
			if len(items) > 0 {
				fault()
			}
		}}, o)
		require.NoError(t, err)
		require.Nil(t, panicked)
		require.Len(t, failed, 6)
		require.Len(t, givenUp, 3)
		for _, f := range givenUp {
			if isPanic {
				require.ErrorIs(t, f.Err, errOnPurpose)
			} else {
				require.ErrorIs(t, f.Err, shardq.ErrGoexit)
			}
		}
		shelf.requireEmpty(t)
	})
}

// Whatever the show of nothing does, the claims of what was handled end.
func TestC51ShowOfNothingThatDoesNotReturn(t *testing.T) {
	forEachEnd(t, func(t *testing.T, o shardq.WorkerOptions[string], isPanic bool, fault func()) {
		shelf := newShelf("a")
		panicked, err := runSource(t, &desk{Source: shelf, show: func(items []string) {
			if len(items) == 0 {
				fault()
			}
		}}, o)
		require.NoError(t, err)
		require.Equal(t, isPanic, panicked != nil)
		shelf.requireEmpty(t)
	})
}

// A leave or Hire that panics is Run's panic; one that ends its goroutine is none.
func TestC51WorkplaceThatDoesNotReturn(t *testing.T) {
	for _, at := range []string{"leave", "Hire", "second Hire"} {
		forEachEnd(t, func(t *testing.T, o shardq.WorkerOptions[string], isPanic bool, fault func()) {
			shelf := newShelf("a")
			o.Workers = 2
			place, hires := &desk{Source: shelf}, make(chan int, 3)
			hires <- 1
			place.hire = func() int {
				n := <-hires
				hires <- n + 1
				if at == "Hire" || at == "second Hire" && n == 2 {
					fault()
				}
				return n
			}
			if at == "leave" {
				place.leave = fault
			}
			panicked, err := runSource(t, place, o)
			require.NoError(t, err)
			require.Equal(t, isPanic, panicked != nil)
			if isPanic {
				require.ErrorIs(t, panicked, errOnPurpose)
			}
			require.Empty(t, shelf.taken)
			require.Equal(t, 3, <-hires, "a Hire that does not return is not called again")
		})
	}
}

// A Hire may use the workers, and return no functions.
func TestC43HireUsesTheWorkers(t *testing.T) {
	forEachForm(t, succeed[string], func(t *testing.T, o shardq.WorkerOptions[string]) {
		shelf := newShelf("a")
		place := &desk{Source: shelf}
		o.Workers = 1
		w, err := shardq.NewSourceWorkers[string](place, o)
		require.NoError(t, err)
		place.hire = func() int {
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

// A borrower embeds a queue, and hands out what a second one has as well.
type borrower struct {
	*shardq.Queue[string]
	second *shardq.Queue[string]
}

func (b borrower) ClaimBatch(ctx context.Context, dst []shardq.Claim[string]) (n int, err error) {
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

// The claims of a batch end, whoever owns them.
func TestC49ClaimsThatDoneClaimsLeavesOpen(t *testing.T) {
	forEachForm(t, succeed[string], func(t *testing.T, o shardq.WorkerOptions[string]) {
		one, two := newQueue[string](1), newQueue[string](1)
		one.AddBatch([]string{"a", "b"})
		two.AddBatch([]string{"c", "d"})
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

func (s strict) DoneClaim(item string, token shardq.ClaimToken) error {
	return errors.Join(s.shelf.DoneClaim(item, token), s.fails())
}

func (s strict) ClaimBatch(ctx context.Context, dst []shardq.Claim[string]) (n int, err error) {
	n, err = s.shelf.ClaimBatch(ctx, dst)
	for i, c := range dst[:n] {
		dst[i] = shardq.NewClaim[string](c.Item, c.Priority, s, c.Token())
	}
	return n, err
}

// A batcher is a strict shelf that ends claims together, or does not.
type batcher struct{ strict }

func (s batcher) DoneClaims([]shardq.Claim[string]) error { return s.fails() }

// Run returns why a claim could not be ended.
func TestC49ErrorAtTheEndOfAClaim(t *testing.T) {
	for _, outcome := range []error{nil, shardq.Permanent(errOnPurpose)} {
		forEachForm(t, failing[string](1000, outcome), func(t *testing.T, o shardq.WorkerOptions[string]) {
			lost := errors.New("no connection")
			shelf := newShelf("a")
			panicked, err := runSource(t, strict{shelf, func() error { return lost }}, o)
			require.ErrorIs(t, err, lost)
			require.Nil(t, panicked)
			shelf.requireEmpty(t)
		})
	}
	forEachForm(t, succeed[string], func(t *testing.T, o shardq.WorkerOptions[string]) {
		_, err := runSource(t, strict{newShelf("a"), func() error { return shardq.ErrClaimEnded }}, o)
		require.NoError(t, err)
	})
}

// DoneClaims may do anything: the claims end one by one then.
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
				panicked, err := runSource(t, source, shardq.WorkerOptions[string]{
					BatchSize: 3, HandleBatch: func(context.Context, []string) []error { return nil },
				})
				require.Equal(t, name == "error", errors.Is(err, lost))
				require.Equal(t, name == "panic", panicked != nil)
				shelf.requireEmpty(t)
			})
		})
	}
}

// An error of a source is not lost beside the end of a context.
func TestC49SourceThatFailsAtTheEnd(t *testing.T) {
	fire := errors.New("disk on fire")
	wrapped := func(ctx context.Context) error { return errors.Join(errOnPurpose, ctx.Err()) }
	forEachForm(t, succeed[string], func(t *testing.T, o shardq.WorkerOptions[string]) {
		for _, failure := range []func(context.Context) error{func(context.Context) error { return fire }, wrapped, context.Cause} {
			source := sourceFunc(func(ctx context.Context, _ []shardq.Claim[string]) (int, error) {
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
			w, err := shardq.NewSourceWorkers[string](source, o)
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

// Run says what is wrong with the claims that a source returns. None of them stays open, and
// none is handled.
func TestC49SourceThatMiscounts(t *testing.T) {
	for name, miscount := range map[string]func(n int, dst []shardq.Claim[string]) int{
		"-1":   func(int, []shardq.Claim[string]) int { return -1 },
		"more": func(_ int, dst []shardq.Claim[string]) int { return len(dst) + 1 },
		"zero": func(n int, dst []shardq.Claim[string]) int { clear(dst[n:]); return len(dst) },
		"none": func(_ int, dst []shardq.Claim[string]) int {
			_ = dst[0].Release()
			dst[0] = shardq.Claim[string]{Item: "a"}
			return 1
		},
	} {
		for _, ending := range []error{nil, shardq.ErrShutDown} {
			t.Run(name, func(t *testing.T) {
				forEachForm(t, succeed[string], func(t *testing.T, o shardq.WorkerOptions[string]) {
					if name == "zero" && o.Handle != nil {
						return // there is no room for two
					}
					shelf := newShelf("a")
					o.Handle, o.HandleBatch = orNothing(t, o)
					source := sourceFunc(func(ctx context.Context, dst []shardq.Claim[string]) (int, error) {
						n, err := shelf.ClaimBatch(ctx, dst)
						require.NoError(t, err)
						return miscount(n, dst), ending
					})
					panicked, err := runSource(t, source, o)
					require.Nil(t, panicked)
					require.ErrorContains(t, err, "shardq: Source.ClaimBatch returned")
					require.Empty(t, shelf.taken)
					require.Equal(t, []string{"a"}, shelf.ready)
				})
			})
		}
	}
}

// orNothing returns handlers of the same form that are not to be called.
func orNothing(t *testing.T, o shardq.WorkerOptions[string]) (func(context.Context, string) error, func(context.Context, []string) []error) {
	if o.Handle != nil {
		return func(context.Context, string) error { t.Error("handled"); return nil }, nil
	}
	return nil, func(context.Context, []string) []error { t.Error("handled"); return nil }
}

// Claims that come with an error are processed, as an io.Reader's bytes are, and then the
// error counts.
func TestC49ClaimsBesideAnError(t *testing.T) {
	lost := errors.New("no connection")
	for _, beside := range []error{lost, shardq.ErrShutDown} {
		for _, ends := range []bool{false, true} { // the handler's goroutine
			handled := 0
			handle := func(context.Context, string) error {
				if handled++; ends && handled == 1 {
					runtime.Goexit()
				}
				return nil
			}
			forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
				handled = 0
				shelf, calls := newShelf("a"), 0
				source := sourceFunc(func(ctx context.Context, dst []shardq.Claim[string]) (n int, err error) {
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
				shelf.requireEmpty(t) // also of what failed, and came again
			})
		}
	}
}

// A named owner of claims cannot say its name.
type nameless struct{ *shelf }

func (s nameless) Name() string { panic(errOnPurpose) }

// No item is lost beside a panic of its owner's Name.
func TestC51NameThatPanics(t *testing.T) {
	forEachForm(t, failing[string](1000, errOnPurpose), func(t *testing.T, o shardq.WorkerOptions[string]) {
		shelf := newShelf("a")
		source := sourceFunc(func(ctx context.Context, dst []shardq.Claim[string]) (n int, err error) {
			n, err = shelf.ClaimBatch(ctx, dst)
			for i, c := range dst[:n] {
				dst[i] = shardq.NewClaim[string](c.Item, c.Priority, nameless{shelf}, c.Token())
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
	o := shardq.WorkerOptions[string]{Workers: 1, Handle: succeed[string], Drain: &shardq.DrainOptions{}}
	for _, source := range []shardq.Source[string]{nil, (*shardq.Queue[string])(nil), struct{ *shardq.Queue[string] }{}} {
		_, err := shardq.NewSourceWorkers(source, o)
		require.EqualError(t, err, "shardq: NewSourceWorkers was called without a source")
	}
	_, err := shardq.NewSourceWorkers[text]((*shardq.Coalescer[string, string])(nil),
		shardq.WorkerOptions[text]{Workers: 1, Handle: func(context.Context, text) error { return nil }})
	require.EqualError(t, err, "shardq: NewSourceWorkers was called without a source")
}
