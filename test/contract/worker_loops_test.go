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
)

// A hook that panics for each of very many items takes no room on the stack for them,
// and Run panics as for one: here with what a drain dropped.
func TestC51HookThatPanicsForEachDroppedItem(t *testing.T) {
	for name, end := range map[string]func(){
		"panic": func() { panic("hook") }, "Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			n, told := scaled(1_000_000, 100_000), 0
			q := newQueue[int](2)
			for item := range n {
				q.AddAfter(item, time.Hour)
			}
			w, err := shardq.NewWorkers(q, shardq.WorkerOptions[int]{
				Workers: 1, Drain: &shardq.DrainOptions{}, Handle: succeed[int],
				OnGiveUp: func(shardq.Failure[int]) { told++; end() },
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			fault := panicOf(func() { err = w.Run(ctx) })
			require.Equal(t, n, told)
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

// Likewise with the items of the greatest batch.
func TestC51HookThatPanicsForEachItemOfABatch(t *testing.T) {
	n, told := scaled(shardq.MaxBatchSize, 100_000), 0
	q := newQueue[int](2)
	q.AddBatch(numbers(n))
	w, err := shardq.NewWorkers(q, shardq.WorkerOptions[int]{
		Workers: 1, BatchSize: shardq.MaxBatchSize, MaxAttempts: 1,
		HandleBatch: func(context.Context, []int) []error { panic("handler") },
		OnError:     func(shardq.Failure[int]) { told++; panic("hook") },
	})
	require.NoError(t, err)
	fault := panicOf(func() { _ = w.Run(t.Context()) })
	require.NotNil(t, fault)
	require.Equal(t, "hook", fault.Value)
	require.Equal(t, n, told)
	require.Zero(t, q.Stats().Held)
}

// What a handler's error says of the shutdown of another queue says nothing of this one:
// its item is discarded, counted and logged.
func TestC50ErrorOfAnotherQueuesShutdown(t *testing.T) {
	sink := newQueue[string](1)
	sink.ShutDown()
	handle := func(_ context.Context, item string) error {
		return fmt.Errorf("forward: %w", sink.TryAdd(item))
	}
	forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
		var log strings.Builder
		q := shardq.Must(shardq.Options[string]{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		o.MaxAttempts = 2
		s := employ(t, q, o)
		q.Add("a")
		time.Sleep(time.Minute)
		s.dismiss(t)
		require.Len(t, s.givenUp, 1)
		require.ErrorIs(t, s.givenUp[0].Err, shardq.ErrShutDown)
		require.EqualValues(t, 1, q.Stats().GivenUp)
		require.Equal(t, 1, strings.Count(log.String(), "an item was given up"))
	})
}

// The methods of the handler's error are called where a panic of theirs is the handler's
// failure, and nowhere else: here they may be called so often.
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
		forEachForm(t, handle, func(t *testing.T, o shardq.WorkerOptions[string]) {
			fault = nil
			q := shardq.Must(shardq.Options[string]{Logger: slog.New(slog.DiscardHandler)})
			s := employ(t, q, o)
			q.Add("a")
			time.Sleep(time.Minute)
			s.dismiss(t)
			require.Len(t, s.failed, 1)
			require.Empty(t, s.givenUp)
			requireCounts(t, q, 0, 0, 0)
		})
	}
}

// A fragileError can be asked so often what it is.
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
