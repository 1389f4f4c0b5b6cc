package contract

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// A handler can ask about its item: in a pool with Use, or with Attempts.
func TestC71AttemptOfAHandler(t *testing.T) {
	pass := func(next worker.Handler[string]) worker.Handler[string] { return next }
	for name, o := range map[string]worker.Options[string]{
		"Attempts": {Attempts: true}, "Use": {Use: []worker.Middleware[string]{pass}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := shardq.MustNew(shardq.Options[string]{
					Name: "jobs", Shards: 2, Ages: true, Group: func(item string) string { return item[:1] },
				})
				var seen []string
				o.Handle = func(ctx context.Context, item string) error {
					a, ok := worker.AttemptOf[string](ctx)
					require.True(t, ok)
					require.Equal(t, item, a.Claim.Item)
					require.True(t, a.Claim.Valid())
					_, other := worker.AttemptOf[int](ctx)
					require.False(t, other, "the items have another type")
					seen = append(seen, fmt.Sprintln(a.Queue(), a.Group(), a.Number(), a.Priority(), a.Waited()))
					if a.Number() == 1 {
						return errOnPurpose
					}
					return nil
				}
				o.Workers = 1
				pool, err := worker.New(q, o)
				require.NoError(t, err)
				q.AddWith("a1", shardq.AddOptions{Priority: 7})
				time.Sleep(3 * time.Second)
				ended := returned(func() { require.NoError(t, pool.Run(t.Context())) })
				time.Sleep(time.Second)
				q.ShutDown()
				requireBecomesTrue(t, ended)
				require.Equal(t, []string{"jobs a 1 7 3s\n", "jobs a 2 7 0s\n"}, seen)
			})
		})
	}
	_, ok := worker.AttemptOf[string](t.Context())
	require.False(t, ok)
}

// The first middleware is the outermost, also in the short forms.
func TestC71MiddlewareOrder(t *testing.T) {
	var steps []string
	step := func(name string) worker.Middleware[string] {
		return func(next worker.Handler[string]) worker.Handler[string] {
			return func(ctx context.Context, item string) error {
				steps = append(steps, name)
				defer func() { steps = append(steps, "/"+name) }()
				return next(ctx, item)
			}
		}
	}
	q := newQueue[string](1)
	q.Add("x")
	q.ShutDown()
	handle := func(context.Context, string) error { steps = append(steps, "handle"); return nil }
	require.NoError(t, q.Run(t.Context(), 1, handle, step("a"), step("b")))
	require.Equal(t, []string{"a", "b", "handle", "/b", "/a"}, steps)

	c := coalesce.MustNew(coalesce.Options[string, int]{Merge: func(a, b int) int { return a + b }})
	require.NoError(t, c.Put("k", 1))
	c.ShutDown()
	got := 0
	require.NoError(t, c.Run(t.Context(), 1, func(_ context.Context, _ string, value int) error { got = value; return nil },
		func(next worker.Handler[coalesce.Entry[string, int]]) worker.Handler[coalesce.Entry[string, int]] {
			return func(ctx context.Context, e coalesce.Entry[string, int]) error {
				a, ok := worker.AttemptOf[coalesce.Entry[string, int]](ctx)
				require.True(t, ok)
				require.Equal(t, 1, a.Number())
				e.Value += 10
				return next(ctx, e)
			}
		}))
	require.Equal(t, 11, got)
}

// All faults of the options are named at once.
func TestC71FaultsOfMiddleware(t *testing.T) {
	none := func(worker.Handler[string]) worker.Handler[string] { return nil }
	_, err := worker.New(newQueue[string](1), worker.Options[string]{
		Workers: 1, Handle: succeed[string], Use: []worker.Middleware[string]{nil, none, worker.TimeoutOf[string](nil)},
	})
	require.ErrorContains(t, err, "Options.Use[0] is nil")
	require.ErrorContains(t, err, "Options.Use[1] returned nil")
	require.ErrorContains(t, err, "Options.Use[2] is nil, or TimeoutOf(nil): want a function")
	_, err = worker.New(newQueue[string](1), worker.Options[string]{
		Workers: 1, BatchSize: 1, HandleBatch: func(context.Context, []string) []error { return nil },
		Use: []worker.Middleware[string]{none}, Attempts: true, CancelIfAddedAgain: true, CancelIfCanceled: true,
	})
	for _, name := range []string{"Use has 1", "Attempts", "CancelIfAddedAgain", "CancelIfCanceled"} {
		require.ErrorContains(t, err, "Options."+name)
	}
}

func TestC71TimeoutOfAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := map[string]time.Duration{}
		q := newQueue[string](1)
		s := startPool(t, q, worker.Options[string]{
			Use: []worker.Middleware[string]{worker.TimeoutOf(func(item string) time.Duration {
				return map[string]time.Duration{"short": time.Second, "long": time.Minute}[item]
			})},
			Handle: func(ctx context.Context, item string) error {
				began := time.Now()
				if _, has := ctx.Deadline(); has {
					<-ctx.Done()
				}
				took[item] = time.Since(began)
				return nil
			},
		})
		q.AddBatch([]string{"short", "long", "none"}, shardq.AddOptions{})
		time.Sleep(time.Hour)
		s.stopPool(t)
		require.Equal(t, map[string]time.Duration{"short": time.Second, "long": time.Minute, "none": 0}, took)
	})
}

// A line names no item unless LogItems is set.
func TestC71LogOfAttempts(t *testing.T) {
	for _, names := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var text strings.Builder
			logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{
				ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				},
			}))
			attempt := 0
			q := shardq.MustNew(shardq.Options[string]{Name: "jobs"})
			s := startPool(t, q, worker.Options[string]{
				Use: []worker.Middleware[string]{worker.Log[string](worker.LogOptions{Logger: logger, LogItems: names})},
				Handle: func(context.Context, string) error {
					time.Sleep(time.Second)
					switch attempt++; attempt {
					case 1:
						return errOnPurpose
					case 2:
						panic("lost")
					case 3:
						return worker.RequeueAfter(time.Second)
					}
					return nil
				},
			})
			q.Add("secret")
			time.Sleep(time.Hour)
			s.stopPool(t)
			lines := strings.Split(strings.TrimSpace(text.String()), "\n")
			require.Len(t, lines, 4)
			for i, want := range []string{
				`level=WARN msg="worker: an attempt failed" queue=jobs attempt=1 duration=1s error="` + errOnPurpose.Error() + `"`,
				`level=WARN msg="worker: an attempt failed" queue=jobs attempt=2 duration=1s error="the handler panicked`,
				`level=INFO msg="worker: an attempt asked for another" queue=jobs attempt=3 duration=1s`,
				`level=INFO msg="worker: an attempt succeeded" queue=jobs attempt=1 duration=1s`,
			} {
				require.Contains(t, strings.ReplaceAll(lines[i], "error=on", `error="on`), strings.TrimSuffix(want, `"`))
				require.Equal(t, names, strings.Contains(lines[i], "item=secret"))
			}
		})
	}
}

// TestC71LogOfAPermanentRequeue checks that an error that is a Permanent and a
// RequeueAfter has the item discarded, and that the line of the attempt and
// RequeueDelay say the same.
func TestC71LogOfAPermanentRequeue(t *testing.T) {
	again := worker.RequeueAfter(time.Second)
	for _, err := range []error{
		worker.Permanent(again), errors.Join(again, worker.Permanent(errOnPurpose)), errors.Join(worker.Permanent(errOnPurpose), again),
	} {
		_, requeued := worker.RequeueDelay(err)
		require.False(t, requeued)
		synctest.Test(t, func(t *testing.T) {
			var text strings.Builder
			logger := slog.New(slog.NewTextHandler(&text, nil))
			q := newQueue[string](1)
			s := startPool(t, q, worker.Options[string]{
				Use:    []worker.Middleware[string]{worker.Log[string](worker.LogOptions{Logger: logger})},
				Handle: func(context.Context, string) error { return err },
			})
			q.Add("a")
			time.Sleep(time.Hour)
			s.stopPool(t)
			require.EqualValues(t, 1, q.Stats().Discarded)
			require.Equal(t, 1, strings.Count(text.String(), "\n"))
			require.Contains(t, text.String(), `level=WARN msg="worker: an attempt failed"`)
		})
	}
}

// What a handler does not ask for costs nothing, and what it asks for costs one
// allocation.
func TestC71AllocationsOfAnAttempt(t *testing.T) {
	for _, test := range []struct {
		attempts bool
		most     float64
	}{{false, 0.1}, {true, 1.1}} {
		q := newQueue[int](1)
		var processed sync.WaitGroup
		pool, err := worker.New(q, worker.Options[int]{
			Workers: 1, Attempts: test.attempts,
			Handle: func(context.Context, int) error { processed.Done(); return nil },
		})
		require.NoError(t, err)
		ended := make(chan struct{})
		go func() { defer close(ended); _ = pool.Run(t.Context()) }()
		items := numbers(1000)
		got := testing.AllocsPerRun(10, func() {
			processed.Add(len(items))
			q.AddBatch(items, shardq.AddOptions{})
			processed.Wait()
		}) / float64(len(items))
		require.Less(t, got, test.most)
		q.ShutDown()
		<-ended
	}
}

// claimEnds are the ends of a claim after which its item runs again.
func claimEnds[T any]() map[string]func(worker.Claim[T]) error {
	return map[string]func(worker.Claim[T]) error{
		"retry":   worker.Claim[T].Retry,
		"requeue": func(c worker.Claim[T]) error { return c.RequeueAfter(time.Second) },
		"release": worker.Claim[T].Release,
	}
}

// handlerErrors are errors that a handler returns after it has ended its claim.
var handlerErrors = map[string]error{
	"error": errOnPurpose, "permanent": worker.Permanent(errOnPurpose), "requeue": worker.RequeueAfter(time.Minute),
}

// endsItsClaim checks a pool whose handler ends its claim in the first attempt,
// and then returns err. The item must run again, and must not be discarded.
func endsItsClaim[T any](t *testing.T, source worker.Source[T], end func(worker.Claim[T]) error, err error) {
	t.Helper()
	attempts, failed := 0, 0
	ctx, stop := context.WithCancel(t.Context())
	pool, fault := worker.New(source, worker.Options[T]{
		Workers: 1, Attempts: true, MaxAttempts: 2,
		Handle: func(ctx context.Context, _ T) error {
			if attempts++; attempts > 1 {
				stop()
				return nil
			}
			a, _ := worker.AttemptOf[T](ctx)
			require.NoError(t, end(a.Claim))
			return err
		},
		OnError:   func(context.Context, worker.Failure[T]) { failed++ },
		OnDiscard: func(_ context.Context, f worker.Failure[T]) { t.Errorf("%v was discarded: %v", f.Item, f.Err) },
	})
	require.NoError(t, fault)
	require.NoError(t, pool.Run(ctx))
	require.Equal(t, 2, attempts)
	if _, requeue := worker.RequeueDelay(err); requeue {
		require.Zero(t, failed)
	} else {
		require.Equal(t, 1, failed)
	}
}

// TestC71HandlerEndsItsClaim checks that the end of a claim by its handler
// decides about the item, whatever the handler returns.
func TestC71HandlerEndsItsClaim(t *testing.T) {
	for name, err := range handlerErrors {
		for how, end := range claimEnds[string]() {
			t.Run("queue/"+how+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := newQueue[string](1)
					q.Add("a")
					endsItsClaim(t, q, end, err)
					require.Zero(t, q.Stats().Discarded)
				})
			})
		}
		for how, end := range claimEnds[coalesce.Entry[string, int]]() {
			t.Run("coalescer/"+how+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := coalesce.MustNew(coalesce.Options[string, int]{Merge: func(a, b int) int { return a + b }})
					require.NoError(t, c.Put("a", 1))
					endsItsClaim(t, c, end, err)
				})
			})
		}
	}
}
