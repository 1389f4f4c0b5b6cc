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

// TestC26CancelWhileDue cancels and moves timers that are due but have not
// fired. The caller's calls take effect until the last moment.
func TestC26CancelWhileDue(t *testing.T) {
	for _, deadline := range []uint64{5, 64, 4096} { // in level 0, and at the start of slots of higher levels
		c := newChecked(t, 0)
		for id := uint32(1); id <= 6; id++ {
			c.schedule(id, deadline)
		}
		for c.wheel.Len() == 6 {
			c.advance(deadline, 1)
		}
		c.cancel(3)               // from the middle
		c.cancel(6)               // the last
		c.schedule(4, deadline)   // due already
		c.schedule(5, deadline+1) // later
		c.check()
		c.arrive(deadline, 1) // fires 2
		require.Equal(t, 1, c.wheel.Len())
		c.arrive(deadline+1, 1)
		require.Zero(t, c.wheel.Len())
	}
}

func TestAdvanceLimit(t *testing.T) {
	w := New(0)
	w.Schedule(1, 1)
	for _, limit := range []int{0, -1} {
		require.False(t, w.Advance(1, limit, nil))
		require.Zero(t, w.Now())
	}
	require.False(t, w.Advance(1, 1, func(uint32) {}), "one step fires the timer")
	require.True(t, w.Advance(1, 1, nil), "one step arrives")
	require.Equal(t, uint64(1), w.Now())
}

// TestAdvanceBackwards stops an Advance halfway and then sets the clock back.
// Timers that were due are due no longer.
func TestAdvanceBackwards(t *testing.T) {
	for _, deadline := range []uint64{5, 64} {
		w := New(0)
		file(w, deadline, 1, 2, 3)
		fired := 0
		for fired == 0 {
			w.Advance(deadline, 1, func(uint32) { fired++ })
		}
		require.True(t, w.Advance(deadline-1, 100, func(uint32) { fired++ }))
		require.Equal(t, 1, fired, "deadline %d", deadline)
		require.Equal(t, deadline, w.Now())
		checkInvariants(t, w)

		w.Rewind(deadline - 1)
		require.True(t, w.Advance(deadline-1, 100, func(uint32) { fired++ }))
		require.Equal(t, 1, fired, "deadline %d", deadline)
		require.True(t, w.Advance(deadline, 100, func(uint32) { fired++ }))
		require.Equal(t, 3, fired, "deadline %d", deadline)
	}
}

// TestRewindCost rewinds a wheel with timers in all slots of all levels. Rewind
// does not sort them, and the next Advance sorts each once.
func TestRewindCost(t *testing.T) {
	c := newChecked(t, 1<<63)
	id := uint32(0)
	for level := range levels {
		for slot := range uint64(slotsPerLevel) {
			id++
			c.schedule(id, 1<<63+slot*span(level)+1)
		}
	}
	c.rewind(12345)
	require.Equal(t, uint64(12345), c.wheel.Now())
	c.check()
	c.arrive(12345, 7)
	require.Zero(t, c.wheel.cascading)
	require.Equal(t, len(c.timers), c.wheel.Len())
}

// TestFireReentrant schedules from within fire: an earlier timer, a later one,
// and itself.
func TestFireReentrant(t *testing.T) {
	c := newChecked(t, 0)
	var order []uint32
	c.onFire = func(id uint32) {
		order = append(order, id)
		switch id {
		case 1:
			c.schedule(1, c.wheel.Now()+1) // itself, one tick later
			c.schedule(9, c.wheel.Now())   // has passed
			c.cancel(3)
		case 2:
			c.schedule(1, 200) // moves it to a later tick
			c.schedule(8, 150) // before the filed timers
		}
	}
	c.schedule(1, 64)
	c.schedule(2, 66)
	c.schedule(3, 66)
	c.schedule(4, 160)
	c.advance(150, 1000)
	require.Equal(t, []uint32{1, 1, 2, 8}, order[:4])
	c.onFire = nil
	c.arrive(1000, 1000)
	require.Zero(t, c.wheel.Len())
}
