package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// TestCanceledTimerStops: when nothing is delayed any more, no timer is left after the
// driver's next reading.
func TestCanceledTimerStops(t *testing.T) {
	c := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Settings: Settings{Clock: c, Rules: Rules{CancelDelayOnAdd: true}}})
	s.AddAfter(1, time.Second)
	s.Add(1)
	s.Core.shard(0).rewind(s.Core.time.Now()) // by an AddAfter that was overtaken
	s.Core.driver.poke()
	require.Zero(t, c.Timers())
}

// A wilfulClock adds an item or panics in the middle of a call that sets a timer.
type wilfulClock struct {
	*clock.Fake
	act func()
}

func (c *wilfulClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.act()
	return &wilfulTimer{c.Fake.AfterFunc(d, f), c}
}

type wilfulTimer struct {
	clock.Timer
	clock *wilfulClock
}

func (t *wilfulTimer) Reset(d time.Duration) bool {
	t.clock.act()
	return t.Timer.Reset(d)
}

// TestDriverOutlivesItsClock: the clock files other deadlines while the driver
// sets its timer, or panics there. After the next AddAfter without a panic the
// timer is set for the earliest deadline.
func TestDriverOutlivesItsClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &wilfulClock{Fake: clock.NewFake(start)}
		s := newTestSet(t, Config[int]{Settings: Settings{Clock: c, Shards: 3, Ages: true}})
		h, item, adds, panics := &hourglass{Set: s, clock: c.Fake}, 0, 0, 0
		delay := func() time.Duration { return time.Duration(rapid.IntRange(1, 50).Draw(t, "ms")) * time.Millisecond }
		add := func() {
			item++
			s.AddAfter(item, delay()*time.Duration(rapid.IntRange(0, 2).Draw(t, "delays")))
		}
		c.act = func() {
			switch {
			case adds > 0:
				adds--
				add()
			case panics > 0:
				panics--
				panic("injected")
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				adds, panics = rapid.IntRange(0, 2).Draw(t, "adds"), rapid.IntRange(0, 3).Draw(t, "panics")
				func() {
					defer func() { _ = recover() }()
					add()
				}()
				adds, panics = 0, 0
				require.True(t, s.Core.coarse.Live.Load() == 0 || s.Core.driver.armed.Load() <= s.Core.coarse.Deadline(), "a reading that nothing ends")
				add()
				require.Empty(t, h.unwatched())
			},
			"step": func(*rapid.T) {
				c.Step(delay())
				require.Empty(t, h.unwatched())
			},
		})
	})
}

// The clock panics twice after a shutdown, as a rate makes Gets wait.
func TestC69PanicsOfTheClockAfterAShutdown(t *testing.T) {
	c, panics := &wilfulClock{Fake: clock.NewFake(start)}, 2
	c.act = func() {
		if panics--; panics >= 0 {
			panic("injected")
		}
	}
	s := newTestSet(t, Config[int]{Settings: Settings{Clock: c, Rate: stats.Rate{PerSecond: 1}}})
	s.AddBatch([]int{1, 2}, Delay{})
	s.Core.ShutDown()
	s.TryTake()
	_, _, _, ok := s.TryTake()
	require.False(t, ok, "the rate still counts")
}
