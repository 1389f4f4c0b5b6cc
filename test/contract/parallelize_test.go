package contract

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/shardq/shardq/worker"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/internal/testscale"
)

func TestC53EachPieceIsDoneOnce(t *testing.T) {
	testscale.Rapid(100)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 20).Draw(rt, "workers")
		pieces := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 3000)).Draw(rt, "pieces")
		times := make([]atomic.Int32, pieces)
		var running, most atomic.Int32
		require.NoError(rt, worker.Parallelize(t.Context(), workers, pieces, func(_ context.Context, piece int) error {
			now := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
			times[piece].Add(1)
			return nil
		}))
		require.LessOrEqual(rt, int(most.Load()), workers)
		for piece := range times {
			require.EqualValues(rt, 1, times[piece].Load(), "piece %d", piece)
		}
	})
}

// As many pieces as there are workers run at the same time.
func TestC53PiecesRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var running atomic.Int32
		ended := returned(func() {
			require.NoError(t, worker.Parallelize(t.Context(), 5, 6, func(context.Context, int) error {
				running.Add(1)
				<-gate
				return nil
			}))
		})
		requireStillFalse(t, ended, "five are under way")
		require.EqualValues(t, 5, running.Load())
		close(gate)
		requireBecomesTrue(t, ended)
		require.EqualValues(t, 6, running.Load())
	})
}

// A worker takes long runs of pieces at first, and shorter ones towards the
// end. So while one piece is slow, the others do all but the rest of its run.
func TestC53OneSlowPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, pieces, firstRun = 4, 1000, 125
		gate, begun := make(chan struct{}), make([]atomic.Bool, pieces)
		ended := returned(func() {
			require.NoError(t, worker.Parallelize(t.Context(), workers, pieces, func(_ context.Context, piece int) error {
				begun[piece].Store(true)
				if piece == 0 {
					<-gate
				}
				return nil
			}))
		})
		requireStillFalse(t, ended, "a piece is slow")
		for piece := range begun {
			require.Equal(t, piece == 0 || piece >= firstRun, begun[piece].Load(), "piece %d", piece)
		}
		close(gate)
		requireBecomesTrue(t, ended)
		for piece := range begun {
			require.True(t, begun[piece].Load())
		}
	})
}

// Towards the end runs are of one piece, so that no worker waits for the run of
// another.
func TestC53LastRunsAreOfOnePiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, pieces = 4, 1000
		gate, late := make(chan struct{}), atomic.Int32{}
		ended := returned(func() {
			require.NoError(t, worker.Parallelize(t.Context(), workers, pieces, func(_ context.Context, piece int) error {
				if piece >= pieces-workers {
					late.Add(1)
					<-gate
				}
				return nil
			}))
		})
		requireStillFalse(t, ended, "the last pieces are slow")
		require.EqualValues(t, workers, late.Load(), "they wait for each other")
		close(gate)
		requireBecomesTrue(t, ended)
	})
}

func TestC53FirstErrorEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, begun := make(chan struct{}), atomic.Int32{}
		err := worker.Parallelize(t.Context(), 2, 1000, func(ctx context.Context, piece int) error {
			begun.Add(1)
			if piece == 0 {
				<-first
				return errOnPurpose
			}
			close(first)
			<-ctx.Done() // their context ends
			return ctx.Err()
		})
		require.Equal(t, errOnPurpose, err)
		require.EqualValues(t, 2, begun.Load())
	})
}

func TestC53EndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var begun atomic.Int32
		stop := func(context.Context, int) error {
			begun.Add(1)
			cancel()
			return nil
		}
		require.Equal(t, context.Canceled, worker.Parallelize(ctx, 1, 1000, stop))
		require.EqualValues(t, 1, begun.Load())
		require.Equal(t, context.Canceled, worker.Parallelize(ctx, 8, 10, stop))
		require.EqualValues(t, 1, begun.Load())
		require.NoError(t, worker.Parallelize(ctx, 8, 0, stop))

	})
}

// If the context ends after all pieces have begun, nothing changes.
func TestC53EndOfTheContextAfterTheLastPiece(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, worker.Parallelize(ctx, 1, 1, func(context.Context, int) error {
		cancel()
		return nil
	}))
}

// A panic reaches the caller of Parallelize, after all goroutines have ended.
func TestC53PanicReachesTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other, over := make(chan struct{}), atomic.Bool{}
		defer func() {
			fault, is := recover().(*worker.PanicError)
			require.True(t, is)
			require.Equal(t, "piece", fault.Value)
			require.Contains(t, string(fault.Stack), "TestC53PanicReachesTheCaller")
			require.True(t, over.Load(), "a goroutine goes on")
		}()
		err := worker.Parallelize(t.Context(), 2, 2, func(ctx context.Context, piece int) error {
			if piece == 0 {
				<-other
				panic("piece")
			}
			close(other)
			<-ctx.Done()
			over.Store(true)
			return ctx.Err()
		})
		require.Fail(t, "Parallelize returned", "%v", err)
	})
}

func TestC53GoexitIsAnError(t *testing.T) {
	err := worker.Parallelize(t.Context(), 3, 100, func(_ context.Context, piece int) error {
		if piece == 50 {
			runtime.Goexit()
		}
		return nil
	})
	require.Equal(t, worker.ErrGoexit, err)
}

func TestC53BadArguments(t *testing.T) {
	do := func(context.Context, int) error { panic("called") }
	require.EqualError(t, worker.Parallelize(t.Context(), 0, 1, do),
		"worker: Parallelize was called with 0 workers: want 1 or more")
	require.EqualError(t, worker.Parallelize(t.Context(), 1, -1, do),
		"worker: Parallelize was called with -1 pieces: want 0 or more")
	require.EqualError(t, worker.Parallelize(t.Context(), 1, 1, nil),
		"worker: Parallelize was called without a function")
	require.NoError(t, worker.Parallelize(t.Context(), 1, 0, do))
	var none context.Context
	require.Panics(t, func() { _ = worker.Parallelize(none, 1, 1, do) })
}
