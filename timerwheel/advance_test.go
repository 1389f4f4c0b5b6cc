package timerwheel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestC26BoundedSteps fires a million timers that are due at once, in calls of
// a thousand steps, and uses the wheel between the calls.
func TestC26BoundedSteps(t *testing.T) {
	t.Run("at the start of a slot", func(t *testing.T) {
		boundedSteps(t, span(3), 1) // due when the slot is opened
	})
	t.Run("deep inside slots", func(t *testing.T) {
		boundedSteps(t, span(3)+span(2)+span(1)+1, 4) // sorted three times, then fired
	})
}

func boundedSteps(t *testing.T, deadline uint64, stepsPerTimer int) {
	const (
		timers = 1_000_000
		limit  = 1000
	)
	w := New(0)
	for id := uint32(1); id <= timers; id++ {
		w.Schedule(id, deadline)
	}
	gone := make([]bool, timers+1)
	left, calls := timers, 0
	for arrived := false; !arrived; calls++ {
		before := left
		arrived = w.Advance(deadline, limit, func(id uint32) {
			if gone[id] {
				t.Fatalf("timer %d was canceled or fired before", id)
			}
			gone[id] = true
			left--
		})
		require.LessOrEqual(t, before-left, limit)
		require.Equal(t, left, w.Len())
		if last := uint32(timers - calls); !gone[last] {
			require.True(t, w.Cancel(last))
			gone[last] = true
			left--
		}
		if !arrived {
			inBetween(t, w, deadline)
		}
	}
	require.Zero(t, left)
	require.False(t, slices.Contains(gone[1:], false))
	require.LessOrEqual(t, calls, 1+(timers*stepsPerTimer+2*levels)/limit)
}

// inBetween uses the wheel while many timers wait to be sorted or fired. It
// leaves the wheel as it was.
func inBetween(t *testing.T, w *Wheel, deadline uint64) {
	const stranger = 2_000_000
	next, ok := w.Next()
	require.True(t, ok)
	require.LessOrEqual(t, next, deadline)
	require.False(t, w.Schedule(stranger, w.Now()), "the current tick has passed")
	require.True(t, w.Schedule(stranger, w.Now()+1))
	require.True(t, w.Schedule(stranger, w.Now()+100_000))
	require.True(t, w.Cancel(stranger))
}

// span returns 64^n, the width of a slot of level n.
func span(n int) uint64 { return 1 << (levelBits * n) }

func TestScheduleZeroID(t *testing.T) {
	w := New(0)
	require.PanicsWithValue(t, "timerwheel: id is 0, want 1 or more", func() { w.Schedule(0, 1) })
	require.False(t, w.Cancel(0))
}
