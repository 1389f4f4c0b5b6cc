package shard

import (
	"testing"
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
}

func (c *jumpingClock) Now() time.Time { return c.now }

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
	s := newTestSet(t, Config[int]{Shards: 2, Clock: c})
	s.AddAfter(1, 3*time.Second)
	s.AddAfter(2, 3*time.Minute)
	require.Equal(t, 3*time.Second, c.left)

	c.now = c.now.Add(time.Minute)
	require.Zero(t, s.Len(), "the driver has not read the clock")
	s.AddAfter(3, time.Millisecond)
	require.Equal(t, 1, s.Len(), "the first is due")
	require.Equal(t, time.Millisecond, c.left)
	c.now = c.now.Add(time.Millisecond)
	c.call()
	require.Equal(t, 2, s.Len())
	require.Equal(t, 2*time.Minute-time.Millisecond, c.left)
}

// TestC44JumpThatIsTakenBack: an item is handed out after the jump, and the
// clock is set back. The watchdog goes on until the clock is there again, and
// finds what is handed out after that.
func TestC44JumpThatIsTakenBack(t *testing.T) {
	c, told := &jumpingClock{now: start}, []int(nil)
	s := newTestSet(t, Config[int]{
		Clock: c, Ages: true, StuckAfter: time.Minute,
		OnStuck: func(i stats.Item[int]) { told = append(told, i.Item) },
	})
	after := func(d time.Duration) {
		c.now = start.Add(d)
		c.call()
	}
	for item := range 3 {
		s.Add(item)
	}
	_, _ = s.Get()
	after(time.Second)
	c.now = start.Add(time.Hour)
	s.Done(0)
	_, _ = s.Get()
	after(61 * time.Second) // the watchdog searches, because of the first item
	s.Done(1)
	_, _ = s.Get()
	after(121 * time.Second)
	require.Empty(t, told)
	after(122 * time.Second)
	require.Equal(t, []int{2}, told)
}

// TestTimerThatIsALittleLate: a late timer is no jump. An add leaves the work
// to the timer.
func TestTimerThatIsALittleLate(t *testing.T) {
	c := &jumpingClock{now: start}
	s := newTestSet(t, Config[int]{Clock: c})
	s.AddAfter(1, time.Second)
	c.now = c.now.Add(time.Second + jump*time.Millisecond)
	s.AddAfter(2, time.Second)
	require.Zero(t, s.Len())
	c.now = c.now.Add(time.Millisecond)
	s.AddAfter(3, time.Second)
	require.Equal(t, 1, s.Len())
}
