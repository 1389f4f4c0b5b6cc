package contract

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// A hook that panics for each of very many items does not make the stack grow,
// and Run panics as for one. Here a drain dropped the items.
func TestC51HookThatPanicsForEachDroppedItem(t *testing.T) {
	for name, end := range map[string]func(){
		"panic": func() { panic("hook") }, "Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			n, reported := scaled(1_000_000, 100_000), 0
			q := newQueue[int](2)
			for item := range n {
				q.AddAfter(item, time.Hour)
			}
			w, err := worker.New(q, worker.Options[int]{
				Workers: 1, Drain: q.DrainWith(shardq.DrainOptions{}), Handle: succeed[int],
				OnDiscard: func(context.Context, worker.Failure[int]) { reported++; end() },
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			fault := panicOf(func() { err = w.Run(ctx) })
			require.Equal(t, n, reported)
			if name == "panic" {
				require.NotNil(t, fault)
				require.Equal(t, "hook", fault.Value)
				require.Contains(t, string(fault.Stack), "TestC51HookThatPanicsForEachDroppedItem")
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// The same holds for the items of the largest batch.
func TestC51HookThatPanicsForEachItemOfABatch(t *testing.T) {
	n, reported := scaled(worker.MaxBatchSize, 100_000), 0
	q := newQueue[int](2)
	q.AddBatch(numbers(n), shardq.AddOptions{})
	w, err := worker.New(q, worker.Options[int]{
		Workers: 1, BatchSize: worker.MaxBatchSize, MaxAttempts: 1,
		HandleBatch: func(context.Context, []int) []error { panic("handler") },
		OnError:     func(context.Context, worker.Failure[int]) { reported++; panic("hook") },
	})
	require.NoError(t, err)
	fault := panicOf(func() { _ = w.Run(t.Context()) })
	require.NotNil(t, fault)
	require.Equal(t, "hook", fault.Value)
	require.Equal(t, n, reported)
	require.Zero(t, q.Stats().Held)
}

// A handler's error that wraps another queue's ErrShutDown does not concern
// this queue. The item is discarded, counted and logged.
func TestC50ErrorOfAnotherQueuesShutdown(t *testing.T) {
	sink := newQueue[string](1)
	sink.ShutDown()
	handle := func(_ context.Context, item string) error {
		return fmt.Errorf("forward: %w", sink.TryAdd(item, shardq.AddOptions{}))
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		var log strings.Builder
		q := shardq.MustNew(shardq.Options[string]{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		o.MaxAttempts = 2
		s := startPool(t, q, o)
		q.Add("a")
		time.Sleep(time.Minute)
		s.stopPool(t)
		require.Len(t, s.discarded, 1)
		require.ErrorIs(t, s.discarded[0].Err, shardq.ErrShutDown)
		require.EqualValues(t, 1, q.Stats().Discarded)
		require.Equal(t, 1, strings.Count(log.String(), "an item was discarded"))
	})
}

// The worker calls the methods of the handler's error only where their panic
// counts as the handler's failure. Here the methods panic after some calls.
func TestC50ErrorWhoseMethodsPanicLater(t *testing.T) {
	for calls := range 4 {
		var fault *fragileError
		handle := func(context.Context, string) error {
			if fault == nil {
				fault = &fragileError{left: calls}
				return fault
			}
			return nil
		}
		forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
			fault = nil
			q := shardq.MustNew(shardq.Options[string]{Logger: slog.New(slog.DiscardHandler)})
			s := startPool(t, q, o)
			q.Add("a")
			time.Sleep(time.Minute)
			s.stopPool(t)
			require.Len(t, s.failed, 1)
			require.Empty(t, s.discarded)
			requireCounts(t, q, 0, 0, 0)
		})
	}
}

// A fragileError panics after some calls of its methods.
type fragileError struct{ left int }

func (e *fragileError) Error() string { return "fragile" }
func (e *fragileError) Is(error) bool { e.ask(); return false }
func (e *fragileError) As(any) bool   { e.ask(); return false }
func (e *fragileError) Unwrap() error { return errors.ErrUnsupported }

func (e *fragileError) ask() {
	if e.left--; e.left < 0 {
		panic("asked once more")
	}
}
