package timerwheel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScheduleZeroID(t *testing.T) {
	w := New(0)
	require.PanicsWithValue(t, "timerwheel: id is 0, want 1 or more", func() { w.Schedule(0, 1) })
	require.False(t, w.Cancel(0))
	_, filed := w.Deadline(0)
	require.False(t, filed)
	checkInvariants(t, w)
}

// TestScheduleLate schedules deadlines that have passed. Arithmetic that wraps
// around would file them in the far future.
func TestScheduleLate(t *testing.T) {
	w := New(1000)
	for _, late := range []uint64{0, 1, 999, 1000} {
		require.False(t, w.Schedule(7, late), "%d", late)
		require.Zero(t, w.Len())
		require.True(t, w.Schedule(7, 5000))
		require.False(t, w.Schedule(7, late), "%d", late)
		require.Zero(t, w.Len(), "a filed timer becomes unfiled")
	}
	require.True(t, w.Schedule(7, 1001))
	checkInvariants(t, w)
}

func TestCancelUnknown(t *testing.T) {
	w := New(0)
	require.False(t, w.Cancel(1), "the wheel is empty")
	w.Schedule(1, 10)
	require.False(t, w.Cancel(2), "has a cell, but is not filed")
	require.False(t, w.Cancel(5000), "has no cell")
	require.True(t, w.Cancel(1))
	require.False(t, w.Cancel(1), "twice")
	_, ok := w.Next()
	require.False(t, ok)
}

// TestRecycledID files an id again in every state that its last timer can
// leave. A link that outlived its timer would fire for the new one.
func TestRecycledID(t *testing.T) {
	c := newChecked(t, 0)
	for _, leave := range []func(){
		func() { c.cancel(1) },
		func() { c.arrive(c.earliest(), 1) },
		func() { c.schedule(1, 0) },
		func() { c.arrive(c.earliest(), 1); c.cancel(1) },
	} {
		for _, after := range []uint64{1, 63, 64, 4096} {
			c.schedule(1, c.wheel.Now()+after)
			c.schedule(2, c.wheel.Now()+after)
			leave()
			c.check()
		}
	}
	c.arrive(1<<20, 8)
	require.Zero(t, c.wheel.Len())
}
