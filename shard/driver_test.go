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

// TestDriverSetsOneTimer counts the calls of the clock. A queue has one timer.
// It is set again for an earlier deadline or after it has fired, and not
// otherwise.
func TestDriverSetsOneTimer(t *testing.T) {
	s, c := newMeddled(t)
	expect := func(when string, afterFuncs, resets, stops int) {
		t.Helper()
		if a, r, p := c.passed(afterAfterFunc), c.passed(afterReset), c.passed(afterStop); a != afterFuncs || r > resets || p > stops {
			t.Errorf("%s: %d calls of AfterFunc, %d of Reset, %d of Stop, want %d, %d, %d",
				when, a, r, p, afterFuncs, resets, stops)
		}
	}
	expect("a new queue", 0, 0, 0)
	for item := range 100 {
		s.Add(item)
	}
	expect("no delays", 0, 0, 0)
	for item := range 100 {
		s.AddAfter(item, time.Duration(1000+item)*time.Second)
	}
	expect("later and later deadlines", 1, 0, 0)
	for item := range 10 {
		s.AddAfter(item, time.Duration(100-item)*time.Second)
	}
	expect("ten earlier ones", 1, 10, 0)
	for item := range 10 {
		s.AddAfter(item, 50*time.Hour)
		s.AddAfter(item, 91*time.Second)
	}
	expect("ten that are not", 1, 10, 0)
	for range 10 {
		c.Step(time.Second)
	}
	expect("a while in which nothing is due", 1, 10, 0)
	c.Step(100 * time.Second)
	expect("ten deadlines at once", 1, 11, 0)
	c.Step(2000 * time.Second)
	expect("the last deadlines", 1, 12, 1)
	c.Step(100 * time.Hour)
	expect("a long rest", 1, 12, 1)
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

// calls are the calls that lead to the clock.
var calls = map[string]func(s *Set[int], c *meddlingClock){
	"the first AddAfter":    func(s *Set[int], _ *meddlingClock) { s.AddAfter(50, time.Minute) },
	"an earlier AddAfter":   func(s *Set[int], _ *meddlingClock) { s.AddAfter(51, time.Second) },
	"the timer":             func(_ *Set[int], c *meddlingClock) { c.Step(time.Minute) },
	"the timer, for all":    func(_ *Set[int], c *meddlingClock) { c.Step(10 * time.Hour) },
	"ShutDown":              func(s *Set[int], _ *meddlingClock) { s.Core.ShutDown() },
	"ShutDownWithDrain":     func(s *Set[int], _ *meddlingClock) { s.Core.ShutDownWithDrain() },
	"AddAfter and ShutDown": func(s *Set[int], _ *meddlingClock) { s.AddAfter(52, time.Millisecond); s.Core.ShutDown() },
}

// TestClockPanics: the clock panics, at each point in each call. The panic
// reaches the caller, the queue goes on, and a shutdown ends it (C17).
func TestClockPanics(t *testing.T) {
	for _, p := range points {
		for name, call := range calls {
			for n := range 3 {
				t.Run(fmt.Sprintf("%s/%s/%d", p, name, n+1), func(t *testing.T) {
					s, c := newMeddled(t)
					if name != "the first AddAfter" {
						s.AddAfter(1, time.Minute)
						s.AddAfter(2, time.Hour)
					}
					panics := false
					c.at(p, n+1, func() { panics = true; panic(p) })
					if got := panicOf(func() { call(s, c) }); (got == p) != panics {
						t.Fatalf("panicked with %v; the clock panicked: %v", got, panics)
					}
					c.leave(p)
					expectWorks(t, s, c)
				})
			}
		}
	}
}

// expectWorks checks that a queue, shut down or not, still works.
func expectWorks(t *testing.T, s *Set[int], c *meddlingClock) {
	t.Helper()
	if !s.Core.ShuttingDown() {
		s.AddAfter(1000, time.Millisecond)
		c.Step(20 * time.Hour)
		checkSet(t, s)
		if st := s.Core.Stats(); st.Delayed > 0 || st.Ready == 0 {
			t.Errorf("after the panic: %+v", st)
		}
	}
	s.Core.ShutDown()
	for s.Core.Len() > 0 {
		item, _ := s.Get()
		s.Done(item)
	}
	s.Core.ShutDownWithDrain() // must return
	if _, shutdown := s.Get(); !shutdown {
		t.Error("Get does not see the shutdown")
	}
	expectStopped(t, s, 0)
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
