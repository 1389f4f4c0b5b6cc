package clock

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the comments of this package say of races, and the test that tries it:
//
//	clock.go  Stop prevents the call, or reports that it came    TestLitmusStopAgainstStep
//	clock.go  Reset likewise, and makes it come anew             TestLitmusResetAgainstStep
//	clock.go  AfterFunc calls f once                             TestLitmusStepAgainstStep
//	fake.go   Step calls what is due, whoever arranged it        TestLitmusAfterFuncAgainstStep

// race makes two calls at the same time, over and over: in the first rounds one after
// the other, in both orders; in the next they are held up at the clock's lock. It begins
// each round with begin, which makes the clock, and ends it with end.
func race(t *testing.T, begin func() *Fake, one, other, end func()) {
	t.Helper()
	processors := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(processors)
	rounds := 20_000
	if testing.Short() {
		rounds /= 5
	}
	for round := range rounds {
		c := begin()
		first, second := one, other
		if round%2 == 1 {
			first, second = second, first
		}
		switch way := round / 2; {
		case way == 0:
			first()
			second()
		case way < 4:
			onOneProcessor(func() { heldUp(&c.mu, first, second) })
		case way < 8:
			onOneProcessor(func() { overtaken(&c.mu, first, second) })
		default:
			together(round, first, second)
		}
		end()
	}
}

// together makes both calls as nearly at the same time as it can; every few rounds one
// of them waits for a moment.
func together(round int, one, other func()) {
	var ready atomic.Int32
	meet := func(late bool) {
		ready.Add(1)
		for n := 1; ready.Load() < 2; n++ {
			if n%1000 == 0 {
				runtime.Gosched()
			}
		}
		if late {
			runtime.Gosched()
		}
	}
	var both sync.WaitGroup
	both.Go(func() { meet(round%5 == 0); other() })
	meet(round%3 == 0)
	one()
	both.Wait()
}

func onOneProcessor(do func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	do()
}

// heldUp makes both calls, the one first, on one processor, while the lock is held that
// both need, and then hands it over from one to the other: the first stops at the end of
// its critical section until the other had its own. (A mutex that has let somebody starve
// for a millisecond is handed over: package sync.)
func heldUp(lock *sync.Mutex, first, second func()) {
	var both sync.WaitGroup
	lock.Lock()
	both.Go(first)
	makeRoom()
	both.Go(second)
	makeRoom()
	for begin := time.Now(); time.Since(begin) < 2*time.Millisecond; {
		makeRoom()
	}
	lock.Unlock()
	if lock.TryLock() { // before the first, who will not have that again
		makeRoom()
		lock.Unlock()
	}
	both.Wait()
}

// overtaken likewise makes the first call stop before its critical section until the
// other is through.
func overtaken(lock *sync.Mutex, first, second func()) {
	var both sync.WaitGroup
	lock.Lock()
	both.Go(first)
	makeRoom()
	lock.Unlock()
	both.Go(second)
	both.Wait()
}

// makeRoom lets all others run who can, if there is one processor.
func makeRoom() {
	for range 20 {
		runtime.Gosched()
	}
}

// A call is what a timer is to do: it counts.
type call struct{ calls atomic.Int32 }

func (c *call) make() { c.calls.Add(1) }

// TestLitmusStopAgainstStep: either Stop says that it prevented the call, or it came.
func TestLitmusStopAgainstStep(t *testing.T) {
	var c *Fake
	var timer Timer
	var stopped bool
	var a *call
	race(t,
		func() *Fake {
			c, a = NewFake(time.Unix(0, 0)), &call{}
			timer = c.AfterFunc(time.Second, a.make)
			return c
		},
		func() { c.Step(time.Second) },
		func() { stopped = timer.Stop() },
		func() {
			c.Step(time.Hour)
			require.Equal(t, stopped, a.calls.Load() == 0)
			require.Zero(t, c.Timers())
		})
}

// TestLitmusResetAgainstStep: either Reset says that the call was to come, and it comes
// once, or it had come and comes again.
func TestLitmusResetAgainstStep(t *testing.T) {
	var c *Fake
	var timer Timer
	var was bool
	var a *call
	race(t,
		func() *Fake {
			c, a = NewFake(time.Unix(0, 0)), &call{}
			timer = c.AfterFunc(time.Second, a.make)
			return c
		},
		func() { c.Step(time.Second) },
		func() { was = timer.Reset(time.Minute) },
		func() {
			before := a.calls.Load()
			require.Equal(t, was, before == 0)
			require.Equal(t, 1, c.Timers())
			c.Step(time.Hour)
			require.Equal(t, before+1, a.calls.Load())
		})
}

// TestLitmusStepAgainstStep: of two who step the clock, one makes the call; and the clock
// goes by both steps.
func TestLitmusStepAgainstStep(t *testing.T) {
	var c *Fake
	var a *call
	step := func() { c.Step(time.Second) }
	race(t,
		func() *Fake {
			c, a = NewFake(time.Unix(0, 0)), &call{}
			c.AfterFunc(time.Second, a.make)
			c.AfterFunc(2*time.Second, a.make)
			return c
		},
		step,
		step,
		func() {
			require.EqualValues(t, 2, a.calls.Load())
			require.Equal(t, time.Unix(2, 0), c.Now())
			require.Zero(t, c.Timers())
		})
}

// TestLitmusAfterFuncAgainstStep: what is arranged while the clock steps is called by
// that Step, or is still to come at its time on the clock.
func TestLitmusAfterFuncAgainstStep(t *testing.T) {
	var c *Fake
	var a *call
	race(t,
		func() *Fake {
			c, a = NewFake(time.Unix(0, 0)), &call{}
			return c
		},
		func() { c.Step(time.Second) },
		func() { c.AfterFunc(time.Second, a.make) },
		func() {
			if a.calls.Load() == 0 {
				require.Equal(t, 1, c.Timers())
				c.Step(time.Second)
			}
			require.EqualValues(t, 1, a.calls.Load())
			require.Zero(t, c.Timers())
		})
}
