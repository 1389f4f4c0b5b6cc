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
func newMeddled(t failer) (*Set[int], *meddlingClock) {
	t.Helper()
	c := newMeddlingClock()
	return newTestSet(t, Config[int]{Shards: 3, Clock: c}), c
}

// expectReady checks that nothing is delayed, and that exactly the wanted items
// are ready.
func expectReady(t *testing.T, s *Set[int], want ...int) {
	t.Helper()
	checkSet(t, s)
	if st := s.Stats(); st.Delayed > 0 {
		t.Errorf("%d items are still delayed", st.Delayed)
	}
	var got []int
	for s.Len() > 0 {
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
	if state := s.driver.ownership.Load(); state != timerStopped {
		t.Errorf("the timer is in state %d", state)
	}
	select {
	case <-s.driver.gone:
	default:
		t.Error("the driver is not gone")
	}
}

// TestTimerOwnershipStates walks through the diagram.
func TestTimerOwnershipStates(t *testing.T) {
	s := newTestSet(t, Config[int]{})
	d := &s.driver
	for _, step := range []struct {
		name     string
		from, to uint32
		do       func() bool
		want     bool
	}{
		{"acquire", timerIdle, timerRunning, d.acquire, true},
		{"acquire while running", timerRunning, timerNotified, d.acquire, false},
		{"acquire while notified", timerNotified, timerNotified, d.acquire, false},
		{"acquire when stopped", timerStopped, timerStopped, d.acquire, false},
		{"settle", timerRunning, timerIdle, func() bool { d.settle(notice{deadline: never}); return true }, true},
		{"settle when notified", timerNotified, timerIdle, func() bool { d.settle(notice{deadline: never}); return true }, true},
		{"poke", timerIdle, timerIdle, func() bool { d.poke(); return true }, true},
		{"poke while running", timerRunning, timerNotified, func() bool { d.poke(); return true }, true},
		{"run", timerIdle, timerIdle, func() bool { d.poke(); return true }, true},
		{"run while running", timerRunning, timerNotified, func() bool { d.poke(); return true }, true},
		{"run when stopped", timerStopped, timerStopped, func() bool { d.poke(); return true }, true},
	} {
		d.ownership.Store(step.from)
		if got := step.do(); got != step.want || d.ownership.Load() != step.to {
			t.Errorf("%s: %v, and the timer is in state %d, want %v and %d",
				step.name, got, d.ownership.Load(), step.want, step.to)
		}
	}
	d.ownership.Store(timerNotified)
	s.closing.begun.Store(true)
	d.settle(notice{deadline: never})
	expectStopped(t, s, 0)
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

// TestDriverWakesOncePerDeadline: there is no fixed tick, and there are no
// other wake-ups.
func TestDriverWakesOncePerDeadline(t *testing.T) {
	s, c := newMeddled(t)
	const deadlines = 50
	for item := range deadlines {
		s.AddAfter(item, time.Duration(1+item)*time.Minute)
	}
	for range deadlines * 60 { // seconds
		c.Step(time.Second)
	}
	c.Step(time.Second)
	if got := s.Len(); got != deadlines {
		t.Errorf("%d items are ready", got)
	}
	if n := c.passed(afterReset) + c.passed(afterAfterFunc); n > deadlines {
		t.Errorf("the timer was set %d times for %d deadlines", n, deadlines)
	}
}

// TestCancelledTimerStops: when nothing is delayed any more, no timer is left
// after the driver's next reading.
func TestCancelledTimerStops(t *testing.T) {
	c := newCheckedSet(t, Config[int]{Rules: Rules{CancelDelayOnAdd: true}})
	c.addAfter(1, time.Second)
	c.add(1)
	c.check()
	c.step(2 * time.Second)
	c.check()
	if n := c.clock.Timers(); n > 0 {
		t.Errorf("%d timers are set for nothing", n)
	}
	c.addAfter(1, time.Second)
	c.add(1)
	c.set.rewind(c.set.shard(0), c.set.time.now()) // by an AddAfter that was overtaken
	c.set.driver.poke()
	if n := c.clock.Timers(); n > 0 {
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
	"Stats":                     func(s *Set[int]) []int { s.Stats(); return nil },
	"the timer's function":      func(s *Set[int]) []int { s.driver.poke(); return nil },
	"the timer's function, ×10": func(s *Set[int]) []int { repeat(10, s.driver.poke); return nil },
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
				s.ShutDown()
				if c.leave(p); !meddled && p != beforeStop && p != afterStop {
					t.Error("the clock had no occasion to meddle")
				}
				expectStopped(t, s, c.Timers())
			})
		}
	}
}

// TestHastyClock: a clock may call the timer's function from within AfterFunc
// and Reset, if it is due.
func TestHastyClock(t *testing.T) {
	for _, reading := range []time.Duration{0, time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
		t.Run(fmt.Sprintf("reading=%v", reading), func(t *testing.T) {
			c := &hastyClock{now: start, reading: reading}
			s := newTestSet(t, Config[int]{Shards: 3, Clock: c})
			if cause := panicOf(func() {
				for item := range 20 {
					s.AddAfter(item, time.Duration(1+item*7%20)*time.Millisecond)
				}
				c.step(time.Second)
			}); cause != nil {
				t.Fatal(cause)
			}
			if st := s.Stats(); st.Ready != 20 || st.Delayed != 0 {
				t.Errorf("%+v", st)
			}
			s.ShutDown()
			expectStopped(t, s, 0)
		})
	}
}

// calls are the calls that lead to the clock.
var calls = map[string]func(s *Set[int], c *meddlingClock){
	"the first AddAfter":    func(s *Set[int], _ *meddlingClock) { s.AddAfter(50, time.Minute) },
	"an earlier AddAfter":   func(s *Set[int], _ *meddlingClock) { s.AddAfter(51, time.Second) },
	"the timer":             func(_ *Set[int], c *meddlingClock) { c.Step(time.Minute) },
	"the timer, for all":    func(_ *Set[int], c *meddlingClock) { c.Step(10 * time.Hour) },
	"ShutDown":              func(s *Set[int], _ *meddlingClock) { s.ShutDown() },
	"ShutDownWithDrain":     func(s *Set[int], _ *meddlingClock) { s.ShutDownWithDrain() },
	"AddAfter and ShutDown": func(s *Set[int], _ *meddlingClock) { s.AddAfter(52, time.Millisecond); s.ShutDown() },
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

// TestClockStepsMeanwhile: the deadline passes between the driver's reading of
// the clock and its setting the timer, which is then set for too late.
func TestClockStepsMeanwhile(t *testing.T) {
	for _, p := range []point{beforeAfterFunc, beforeReset} {
		t.Run(string(p), func(t *testing.T) {
			s, c := newMeddled(t)
			if p == beforeReset {
				s.AddAfter(1, time.Hour)
			}
			c.at(p, 1, func() { c.Fake.Step(2 * time.Minute) })
			s.AddAfter(2, time.Minute)
			if !slices.Contains(allReady(t, s), 2) {
				t.Errorf("the item is not ready a minute after its time: %+v", s.Stats())
			}
			checkSet(t, s)
		})
	}
}

// TestClockStepsPartWay: the clock is stepped between the driver's reading it
// and its setting the timer, but not as far as the deadline.
func TestClockStepsPartWay(t *testing.T) {
	for _, p := range []point{beforeAfterFunc, beforeReset} {
		t.Run(string(p), func(t *testing.T) {
			s, c := newMeddled(t)
			if p == beforeReset {
				s.AddAfter(1, 2*time.Hour)
			}
			c.at(p, 1, func() { c.Fake.Step(time.Minute / 2) })
			s.AddAfter(2, time.Minute)
			if next, ok := c.Next(); !ok || next != time.Minute/2 {
				t.Errorf("the timer is set for %v (%v)", next, ok)
			}
			checkSet(t, s)
		})
	}
}

// TestClockPanicsAgain: the clock panics at each passing of a point, so that
// the driver cannot make up for it. Once the clock works again, the next
// AddAfter sets the timer.
func TestClockPanicsAgain(t *testing.T) {
	for _, p := range points {
		for name, call := range calls {
			t.Run(fmt.Sprintf("%s/%s", p, name), func(t *testing.T) {
				s, c := newMeddled(t)
				if name != "the first AddAfter" {
					s.AddAfter(1, time.Minute)
					s.AddAfter(2, time.Hour)
				}
				panics := 0
				c.each(p, func() { panics++; panic(panics) })
				if got := panicOf(func() { call(s, c) }); got != 1 && panics > 0 {
					t.Fatalf("panicked with %v; the clock panicked %d times", got, panics)
				}
				c.leave(p)
				expectWorks(t, s, c)
			})
		}
	}
}

// TestLaterDeadlineAfterTwoPanics: the clock panics twice in one AddAfter,
// which leaves the timer unset. The next AddAfter asks for a later deadline. It
// sets the timer for the item of the first, which becomes ready in time.
func TestLaterDeadlineAfterTwoPanics(t *testing.T) {
	for _, p := range []point{beforeAfterFunc, beforeReset} {
		t.Run(string(p), func(t *testing.T) {
			s, c := newMeddled(t)
			if p == beforeReset {
				s.AddAfter(3, 10*time.Hour)
			}
			panics := 0
			c.each(p, func() { panics++; panic("clock") })
			if panicOf(func() { s.AddAfter(1, time.Minute) }) == nil || panics != 2 {
				t.Fatalf("the clock panicked %d times", panics)
			}
			c.leave(p)
			s.AddAfter(2, time.Hour)
			c.Step(time.Minute + time.Millisecond)
			if ready := allReady(t, s); !slices.Equal(ready, []int{1}) {
				t.Errorf("after a minute %v are ready: %+v", ready, s.Stats())
			}
		})
	}
}

// expectWorks checks that a queue, shut down or not, still works.
func expectWorks(t *testing.T, s *Set[int], c *meddlingClock) {
	t.Helper()
	if !s.ShuttingDown() {
		s.AddAfter(1000, time.Millisecond)
		c.Step(20 * time.Hour)
		checkSet(t, s)
		if st := s.Stats(); st.Delayed > 0 || st.Ready == 0 {
			t.Errorf("after the panic: %+v", st)
		}
	}
	s.ShutDown()
	for s.Len() > 0 {
		item, _ := s.Get()
		s.Done(item)
	}
	s.ShutDownWithDrain() // must return
	if _, shutdown := s.Get(); !shutdown {
		t.Error("Get does not see the shutdown")
	}
	expectStopped(t, s, 0)
}

// TestPanicLosesNobodyElse: while one AddAfter is in the clock, others file
// their items, and leave the timer to that one. When the clock panics then, the
// others do not notice it, and their items must become ready in time.
func TestPanicLosesNobodyElse(t *testing.T) {
	for name, d := range map[string]time.Duration{"earlier": time.Second, "later": 3 * time.Hour} {
		for _, p := range []point{beforeAfterFunc, beforeReset} {
			t.Run(fmt.Sprintf("%s/%s", name, p), func(t *testing.T) {
				s, c := newMeddled(t)
				if p == beforeReset {
					s.AddAfter(1, 4*time.Hour)
				}
				c.at(p, 1, func() {
					s.AddAfter(2, d) // as if from another goroutine
					panic("clock")
				})
				if panicOf(func() { s.AddAfter(3, time.Hour) }) == nil {
					t.Fatal("the clock did not panic")
				}
				c.Step(d + time.Millisecond)
				if !slices.Contains(allReady(t, s), 2) {
					t.Errorf("after %v the item is not ready: %+v", d, s.Stats())
				}
			})
		}
	}
}

// TestLitmusPanicAgainstShutDown: the clock panics in an AddAfter while the
// queue is shut down. The shutdown does not wait forever.
func TestLitmusPanicAgainstShutDown(t *testing.T) {
	for round := range rounds(t, 20_000) {
		s := newTestSet(t, Config[int]{Shards: 1, Clock: panickingClock{}})
		returned := make(chan struct{})
		go func() {
			panicOf(func() { s.AddAfter(1, time.Hour) })
			returned <- struct{}{}
		}()
		pause(round, 60)
		down := make(chan struct{})
		go func() { s.ShutDown(); close(down) }()
		<-returned
		eventually(t, "ShutDown does not return after a panic of the clock", closed(down))
	}
}

// panickingClock stands still and sets no timer.
type panickingClock struct{}

func (panickingClock) Now() time.Time                              { return start }
func (panickingClock) AfterFunc(time.Duration, func()) clock.Timer { panic("no timers") }

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
				go func() { s.ShutDown(); down = true }()
				synctest.Wait() // it waits for the driver now
				if down || !s.ShuttingDown() {
					t.Error("ShutDown did not wait for the driver")
				}
			})
			c.Step(time.Hour)
			synctest.Wait()
			if !down {
				t.Error("ShutDown has not returned")
			}
			expectStopped(t, s, c.Timers())
			st := s.Stats()
			if st.Expired+st.Dropped != items || st.Delayed > 0 || st.Ready != int(st.Expired) {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestExpireInTurns: many timers are due at once. The lock is released after a
// bounded number of them (C26).
func TestExpireInTurns(t *testing.T) {
	const items = 10 * stepsPerHold
	c := newMeddlingClock()
	s := newTestSet(t, Config[int]{Clock: c})
	for item := range items {
		s.AddAfter(item, time.Millisecond)
	}
	c.Fake.Step(time.Hour) // the driver has done all of them
	if s.Len() != items {
		t.Fatalf("%d items are ready", s.Len())
	}
	if turns := c.passed(beforeNow) - items; turns < 10 {
		t.Errorf("%d items were done in %d turns", items, turns)
	}
}

// TestExpireIsBounded checks one turn after the other.
func TestExpireIsBounded(t *testing.T) {
	const items = 10 * stepsPerHold
	s := newTestSet(t, Config[int]{})
	sh := s.shard(0)
	for item := range items {
		s.AddAfter(item, time.Duration(1+item%70)*time.Millisecond)
	}
	later := reading{now: s.time.now() + 100, number: 1}
	turns := 0
	for ; s.Stats().Delayed > 0; turns++ {
		before := s.Len()
		if queued := s.expire(sh, later)&wakes != 0; queued != (s.Len() > before) || s.Len()-before > stepsPerHold {
			t.Fatalf("turn %d made %d items ready and says %v", turns, s.Len()-before, queued)
		}
	}
	if turns < items/stepsPerHold {
		t.Errorf("%d items were done in %d turns", items, turns)
	}
	if queued := s.expire(sh, later)&wakes != 0; queued || sh.next.Load() != never {
		t.Error("there is more to expire")
	}
}

// TestExpireNothing: a deadline is published, but not filed any more.
func TestExpireNothing(t *testing.T) {
	s := newTestSet(t, Config[int]{})
	sh := s.shard(0)
	sh.next.Store(0)
	if queued := s.expire(sh, s.driver.readClock())&wakes != 0; queued || sh.next.Load() != never {
		t.Error("a shard without a wheel has something to expire")
	}
	s.AddAfter(1, time.Millisecond)
	s.closing.begun.Store(true)
	if queued := s.expire(sh, reading{now: never, number: 1})&wakes != 0; queued || sh.next.Load() != never {
		t.Error("a shard that is shut down has something to expire")
	}
}

// TestClockSetBack: the clock is set back over deadlines that the wheel has
// passed. An item does not become ready early (C19).
func TestClockSetBack(t *testing.T) {
	c := newCheckedSet(t, Config[int]{})
	c.addAfter(1, time.Second)
	c.step(time.Hour)
	c.step(-30 * time.Minute)
	c.addAfter(2, time.Minute)
	c.addAfter(3, time.Hour)
	c.check()
	c.step(59 * time.Second)
	c.check()
	c.step(2 * time.Second)
	c.check()
	c.drainAll()
}

// TestSetBackWhileDelayed: a limit keeps an item delayed while the clock is set
// back. Its shard's wheel then has to be advanced earlier than any item is due.
func TestSetBackWhileDelayed(t *testing.T) {
	c := newCheckedSet(t, Config[int]{Tick: time.Second, Shards: 2, Route: parity})
	c.addAfter(1, 79*time.Second)
	c.step(-106 * time.Second)
	c.addAfter(2, 16*time.Second)
	c.addWith(1, Delay{Policy: KeepOld, MaxWait: 21 * time.Second})
	c.check()
	c.drainAll()
}

// TestOvertakenAddAfter: between an AddAfter's reading of the clock and its
// lock, time passes and its shard's wheel goes beyond its deadline. The item is
// added, once, and of its two deadlines the earlier one counts (C21).
func TestOvertakenAddAfter(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancel=%v", cancel), func(t *testing.T) {
			c := newMeddlingClock()
			s := newTestSet(t, Config[int]{Clock: c, Rules: Rules{CancelDelayOnAdd: cancel}})
			s.AddAfter(1, time.Hour)
			s.AddAfter(2, time.Minute)
			c.at(afterNow, 1, func() { c.Step(2 * time.Minute) })
			s.AddAfter(1, time.Second)
			st := s.Stats()
			if st.Ready != 2 || st.Delayed != 0 {
				t.Errorf("after both deadlines: %+v", st)
			}
			c.Step(2 * time.Hour)
			if again := s.Stats(); again.Added+again.Deduplicated != 2 {
				t.Errorf("the later deadline added the item again: %+v", again)
			}
		})
	}
}

// TestSetBackWhileAdding: the same, but the clock is set back before it is read
// again. The item must stay delayed.
func TestSetBackWhileAdding(t *testing.T) {
	c := newMeddlingClock()
	s := newTestSet(t, Config[int]{Clock: c})
	s.AddAfter(2, time.Minute)
	c.at(afterNow, 1, func() {
		c.Step(2 * time.Minute)
		c.Step(-2 * time.Minute)
	})
	s.AddAfter(1, time.Second)
	checkSet(t, s)
	if st := s.Stats(); st.Delayed != 1 || st.Ready != 1 {
		t.Fatalf("%+v", st)
	}
	c.Step(2 * time.Second)
	if st := s.Stats(); st.Delayed != 0 || st.Ready != 2 {
		t.Fatalf("%+v", st)
	}
}
