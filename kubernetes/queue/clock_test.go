package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	kubernetes "k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/kubernetes/queue"
)

func TestRealClockIsReal(t *testing.T) {
	require.Equal(t, clock.Real(), queue.FromClock(kubernetes.RealClock{}))
	require.Equal(t, clock.Real(), queue.FromClock(nil))
}

// TestTimerOfAFakeClock: a timer fires once when it is due, can be stopped, and
// can be set again, also from its own function.
func TestTimerOfAFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := testingclock.NewFakeClock(time.Unix(0, 0))
		c := queue.FromClock(fake)
		fired := 0
		var timer clock.Timer
		timer = c.AfterFunc(time.Second, func() {
			if fired++; fired < 3 {
				timer.Reset(time.Second)
			}
		})
		step := func() {
			fake.Step(time.Second)
			synctest.Wait()
		}
		for want := 1; want <= 3; want++ {
			step()
			require.Equal(t, want, fired)
		}
		step()
		require.Equal(t, 3, fired)
		require.False(t, timer.Stop(), "it has fired")
		require.False(t, timer.Reset(time.Second))
		require.True(t, timer.Reset(2*time.Second))
		step()
		require.Equal(t, 3, fired)
		require.True(t, timer.Stop())
		step()
		require.Equal(t, 3, fired)
		timer.Reset(-time.Second)
		synctest.Wait()
		require.Equal(t, 4, fired, "as soon as possible")
	})
}
