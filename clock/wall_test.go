package clock

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWall: timers go by wall time, which may be stepped while the timers of the
// runtime, as those of a suspended machine, do not notice.
func TestWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var step atomic.Int64
		var calls atomic.Int32
		source := wallClock(func() time.Time { return time.Now().Add(time.Duration(step.Load())) })
		c := &source
		timer := c.AfterFunc(time.Hour, func() { calls.Add(1) })
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		pass(time.Hour - 1)
		require.Zero(t, calls.Load())
		pass(1)
		require.EqualValues(t, 1, calls.Load(), "in time without steps")
		pass(time.Hour)
		require.EqualValues(t, 1, calls.Load(), "once")

		require.False(t, timer.Reset(time.Hour))
		pass(time.Minute)
		step.Add(int64(time.Hour)) // the machine was suspended
		pass(mostWait)
		require.EqualValues(t, 2, calls.Load())

		require.False(t, timer.Reset(time.Minute))
		step.Add(-int64(time.Hour))
		pass(time.Hour + time.Minute - 1)
		require.EqualValues(t, 2, calls.Load(), "not early")
		pass(1)
		require.EqualValues(t, 3, calls.Load())

		timer.Reset(time.Minute)
		require.True(t, timer.Reset(2*time.Minute))
		pass(time.Minute)
		require.EqualValues(t, 3, calls.Load())
		require.True(t, timer.Stop())
		require.False(t, timer.Stop())
		pass(time.Hour)
		require.EqualValues(t, 3, calls.Load())

		c.AfterFunc(-1, func() { calls.Add(1) })
		timer.Reset(0)
		synctest.Wait()
		require.EqualValues(t, 5, calls.Load())
	})
	now := Wall().Now()
	require.True(t, now == now.Round(0), "no monotonic clock")
	require.WithinDuration(t, time.Now(), now, time.Hour)
}
