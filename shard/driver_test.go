package shard

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/clock"
)

// newMeddled returns a set of a few shards with a meddling clock.
func newMeddled(t tester) (*Set[int], *meddlingClock) {
	t.Helper()
	c := newMeddlingClock()
	return newTestSet(t, Config[int]{Settings: Settings{Shards: 3, Clock: c}}), c
}

// expectReady checks that nothing is delayed, and that exactly the wanted items
// are ready.
func expectReady(t *testing.T, s *Set[int], want ...int) {
	t.Helper()
	checkSet(t, s)
	if st := s.Core.Stats(); st.Delayed > 0 {
		t.Errorf("%d items are still delayed", st.Delayed)
	}
	var got []int
	for s.Core.Len() > 0 {
		item, _ := s.Get()
		s.Done(item)
		got = append(got, item)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("ready are %v, not %v", got, want)
	}
}

// expectStopped checks that nothing is left of the driver.
func expectStopped(t *testing.T, s *Set[int], timers int) {
	t.Helper()
	if timers > 0 {
		t.Errorf("%d timers are left", timers)
	}
	if state := s.Core.driver.ownership.Load(); state != timerStopped {
		t.Errorf("the timer is in state %d", state)
	}
	select {
	case <-s.Core.driver.gone:
	default:
		t.Error("the driver is not gone")
	}
}

// TestCancelledTimerStops: when nothing is delayed any more, no timer is left
// after the driver's next reading.
func TestCancelledTimerStops(t *testing.T) {
	c := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Settings: Settings{Clock: c, Rules: Rules{CancelDelayOnAdd: true}}})
	s.AddAfter(1, time.Second)
	s.Add(1)
	c.Step(2 * time.Second)
	if n := c.Timers(); n > 0 {
		t.Errorf("%d timers are set for nothing", n)
	}
	s.AddAfter(1, time.Second)
	s.Add(1)
	s.Core.shard(0).rewind(s.Core.time.Now()) // by an AddAfter that was overtaken
	s.Core.driver.poke()
	if n := c.Timers(); n > 0 {
		t.Errorf("%d timers are set after the driver has looked", n)
	}
}

// meddlings are calls that a clock may make to the queue from within its own
// methods.
var meddlings = map[string]func(s *Set[int]) (ready []int){
	"Add":                       func(s *Set[int]) []int { s.Add(100); return []int{100} },
	"AddAfter, earlier":         func(s *Set[int]) []int { s.AddAfter(101, time.Millisecond); return []int{101} },
	"AddAfter, later":           func(s *Set[int]) []int { s.AddAfter(102, time.Hour); return []int{102} },
	"AddAfter of a delayed":     func(s *Set[int]) []int { s.AddAfter(1, time.Microsecond); return nil },
	"Stats":                     func(s *Set[int]) []int { s.Core.Stats(); return nil },
	"the timer's function":      func(s *Set[int]) []int { s.Core.driver.poke(); return nil },
	"the timer's function, ×10": func(s *Set[int]) []int { repeat(10, s.Core.driver.poke); return nil },
}

func repeat(n int, do func()) {
	for range n {
		do()
	}
}

// TestClockMeddles: whatever a clock does with the queue in a call that the
// driver makes, no item is late.
func TestClockMeddles(t *testing.T) {
	for _, p := range points {
		for name, meddling := range meddlings {
			t.Run(fmt.Sprintf("%s/%s", p, name), func(t *testing.T) {
				s, c := newMeddled(t)
				want, meddled := []int{1, 2, 3}, false
				c.at(p, 1, func() { want, meddled = append(want, meddling(s)...), true })
				s.AddAfter(1, 5*time.Second)
				s.AddAfter(2, 2*time.Second)
				s.AddAfter(3, time.Second)
				c.Step(time.Second)
				c.Step(10 * time.Hour)
				c.Step(10 * time.Hour) // for what was added by then
				expectReady(t, s, want...)
				s.Core.ShutDown()
				if c.leave(p); !meddled && p != beforeStop && p != afterStop {
					t.Error("the clock had no occasion to meddle")
				}
				expectStopped(t, s, c.Timers())
			})
		}
	}
}

// TestShutDownWhileExpiring: a shutdown comes while many timers are due. Each
// item is either ready or dropped, and no timer is left.
func TestShutDownWhileExpiring(t *testing.T) {
	const items = 3000
	for _, reading := range []int{1, 2, 3, 5} {
		synctest.Test(t, func(t *testing.T) {
			s, c := newMeddled(t)
			for item := range items {
				s.AddAfter(item, time.Duration(1+item)*time.Millisecond)
			}
			down := false
			c.at(beforeNow, reading, func() {
				go func() { s.Core.ShutDown(); down = true }()
				synctest.Wait() // it waits for the driver now
				if down || !s.Core.ShuttingDown() {
					t.Error("ShutDown did not wait for the driver")
				}
			})
			c.Step(time.Hour)
			synctest.Wait()
			if !down {
				t.Error("ShutDown has not returned")
			}
			expectStopped(t, s, c.Timers())
			st := s.Core.Stats()
			if st.Expired+st.Dropped != items || st.Delayed > 0 || st.Ready != int(st.Expired) {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestExpireIsBounded checks one turn after the other.
func TestExpireIsBounded(t *testing.T) {
	const items = 10 * stepsPerHold
	s := newTestSet(t, Config[int]{})
	sh := s.Core.shard(0)
	for item := range items {
		s.AddAfter(item, time.Duration(1+item%70)*time.Millisecond)
	}
	later := reading{now: s.Core.time.Now() + 100, number: 1}
	turns := 0
	for ; s.Core.Stats().Delayed > 0; turns++ {
		before := s.Core.Len()
		if queued := sh.expire(later)&wakes != 0; queued != (s.Core.Len() > before) || s.Core.Len()-before > stepsPerHold {
			t.Fatalf("turn %d made %d items ready and says %v", turns, s.Core.Len()-before, queued)
		}
	}
	if turns < items/stepsPerHold {
		t.Errorf("%d items were done in %d turns", items, turns)
	}
	if queued := sh.expire(later)&wakes != 0; queued || sh.next.Load() != never {
		t.Error("there is more to expire")
	}
}
