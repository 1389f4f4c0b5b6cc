package clock_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A log records the order in which functions are called.
type log struct{ calls []string }

func (l *log) note(name string) func() { return func() { l.calls = append(l.calls, name) } }

func TestFakeCallsWhenItsTimeComes(t *testing.T) {
	c, l := clock.NewFake(start), &log{}
	_, ok := c.Next()
	require.False(t, ok)
	c.AfterFunc(time.Second, func() { l.note(c.Now().Sub(start).String())() })
	c.Step(-time.Hour)
	c.Step(time.Hour + time.Second - 1)
	require.Empty(t, l.calls)
	c.Step(time.Hour)
	c.Step(time.Hour)
	require.Equal(t, []string{"1h0m0.999999999s"}, l.calls, "at the new time, and once")
}

func TestFakeCallsInTheOrderOfTime(t *testing.T) {
	c, l := clock.NewFake(start), &log{}
	c.AfterFunc(3*time.Second, l.note("third"))
	c.AfterFunc(time.Second, l.note("first"))
	c.AfterFunc(2*time.Second, l.note("second"))
	c.AfterFunc(2*time.Second, l.note("second, scheduled later"))
	last := c.AfterFunc(2*time.Second, l.note("second, reset"))
	c.AfterFunc(2*time.Second, l.note("second, scheduled last"))
	last.Reset(2 * time.Second)
	c.AfterFunc(time.Minute, l.note("not yet"))
	c.Step(10 * time.Second)
	require.Equal(t, []string{"first", "second", "second, scheduled later", "second, scheduled last", "second, reset", "third"}, l.calls)
	require.Equal(t, 1, c.Timers())
	left, _ := c.Next()
	require.Equal(t, 50*time.Second, left)
}

// TestFakeCallsDueFunctionsInTheNextStep: a function that is already due waits
// for the next Step, even a Step of zero, but not for one that is in progress.
func TestFakeCallsDueFunctionsInTheNextStep(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Hour} {
		c, l := clock.NewFake(start), &log{}
		c.AfterFunc(d, func() {
			l.note("a")()
			c.AfterFunc(d, l.note("b"))
			c.AfterFunc(1, l.note("not yet"))
		})
		require.Empty(t, l.calls)
		c.Step(0)
		require.Equal(t, []string{"a", "b"}, l.calls)
	}
}

func TestFakeTimer(t *testing.T) {
	c, l := clock.NewFake(start), &log{}
	timer := c.AfterFunc(time.Second, l.note("a"))
	c.Step(time.Second / 2)
	require.True(t, timer.Reset(time.Second), "the call was pending")
	c.Step(time.Second / 2)
	require.Empty(t, l.calls)
	require.Equal(t, 1, c.Timers())
	c.Step(time.Second / 2)
	require.Equal(t, []string{"a"}, l.calls)

	require.False(t, timer.Stop(), "the call was made")
	require.False(t, timer.Reset(time.Second))
	require.True(t, timer.Stop())
	require.False(t, timer.Stop(), "it was stopped")
	c.Step(time.Hour)
	require.Len(t, l.calls, 1)
	require.False(t, timer.Reset(time.Second))
	c.Step(time.Second)
	require.Equal(t, []string{"a", "a"}, l.calls)
}

func TestFakePanicPassesThroughStep(t *testing.T) {
	c, l := clock.NewFake(start), &log{}
	c.AfterFunc(1, l.note("before"))
	c.AfterFunc(2, func() { panic("fault") })
	c.AfterFunc(3, l.note("after"))
	require.PanicsWithValue(t, "fault", func() { c.Step(time.Second) })
	require.Equal(t, []string{"before"}, l.calls)
	require.Equal(t, start.Add(time.Second), c.Now())
	c.Step(0)
	require.Equal(t, []string{"before", "after"}, l.calls)
}

// TestFakeFunctionsMayUseTheClock: functions may use the clock and its timers,
// because no lock is held.
func TestFakeFunctionsMayUseTheClock(t *testing.T) {
	c, l := clock.NewFake(start), &log{}
	other := c.AfterFunc(2*time.Second, l.note("stopped"))
	var self clock.Timer
	times := 0
	self = c.AfterFunc(time.Second, func() {
		other.Stop()
		c.Timers()
		c.Next()
		if times++; times < 5 {
			self.Reset(0)
		}
		if times == 3 {
			c.Step(time.Second)
		}
	})
	c.Step(time.Hour)
	require.Equal(t, 5, times)
	require.Empty(t, l.calls)
	require.Equal(t, start.Add(time.Hour+time.Second), c.Now())
}

func TestFakeFromManyGoroutines(t *testing.T) {
	c := clock.NewFake(start)
	var calls atomic.Int32
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 200 {
				timer := c.AfterFunc(time.Duration(i%7)*time.Second, func() { calls.Add(1) })
				if i%4 == 0 && timer.Stop() {
					calls.Add(1) // replaces the call that Stop prevented
				}
				if i%4 == 1 && !timer.Reset(time.Second) {
					calls.Add(-1) // the function is called twice
				}
				c.Step(time.Second)
				c.Now()
				c.Next()
			}
		})
	}
	group.Wait()
	c.Step(time.Hour)
	require.EqualValues(t, 4*200, calls.Load(), "each function is called once")
	require.Zero(t, c.Timers())
}
