package shard

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// A jumpingClock shows a time that jumps, and its timers do not notice.
type jumpingClock struct {
	now  time.Time
	left time.Duration // of its one timer, when it was set
	call func()
	// then is called in the middle of a reading, after so many others.
	then     func()
	readings int
}

func (c *jumpingClock) Now() time.Time {
	now := c.now
	if c.readings--; c.readings == 0 {
		c.then()
	}
	return now
}

func (c *jumpingClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.left, c.call = d, f
	return jumpingTimer{c}
}

type jumpingTimer struct{ *jumpingClock }

func (t jumpingTimer) Stop() bool { return true }

func (t jumpingTimer) Reset(d time.Duration) bool {
	t.left = d
	return true
}

// TestC27JumpOfAClockWhoseTimersDoNot: the first call after the jump notices
// it, for what is due and for itself.
func TestC27JumpOfAClockWhoseTimersDoNot(t *testing.T) {
	c := &jumpingClock{now: start}
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 2, Clock: c}})
	s.AddAfter(1, 3*time.Second)
	s.AddAfter(2, 3*time.Minute)
	require.Equal(t, 3*time.Second, c.left)

	c.now = c.now.Add(time.Minute)
	require.Zero(t, s.Core.Len(), "the driver has not read the clock")
	s.AddAfter(3, time.Millisecond)
	require.Equal(t, 1, s.Core.Len(), "the first is due")
	require.Equal(t, time.Millisecond, c.left)
	c.now = c.now.Add(time.Millisecond)
	c.call()
	require.Equal(t, 2, s.Core.Len())
	require.Equal(t, 2*time.Minute-time.Millisecond, c.left)
}

func TestC44JumpOfAClockWhoseTimersDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stuck := &jumpingClock{now: start}, 0
		s := newTestSet(t, Config[int]{Settings: Settings{
			Clock: c, Ages: true, StuckAfter: time.Second, OnStuck: func(stats.Item[any]) { stuck++ },
		}})
		s.Add(1)
		s.TryTake()
		c.now = c.now.Add(time.Minute)
		s.AddAfter(2, time.Hour)
		synctest.Wait()
		require.Equal(t, 1, stuck)
	})
}

// TestC80ClockSetBackDuringAReading: as the driver reads, a window begins.
func TestC80ClockSetBackDuringAReading(t *testing.T) {
	c, window := &jumpingClock{now: start}, Delay{Window: time.Minute}
	s := newTestSet(t, Config[int]{Settings: Settings{Clock: c}})
	s.AddWith(1, window)
	c.now = c.now.Add(time.Minute)
	c.readings, c.then = 2, func() {
		c.now = start.Add(-time.Hour)
		s.AddWith(2, window)
	}
	c.call()
	require.Equal(t, ErrNotAgain, s.TryAdd(2, window))
}
