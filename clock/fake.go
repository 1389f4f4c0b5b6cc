package clock

import (
	"sync"
	"time"
)

// A Fake is a [Clock] that moves only when [Fake.Step] is called. It is safe
// for concurrent use and must not be copied.
type Fake struct {
	mu      sync.Mutex
	now     time.Time
	serial  uint64
	pending []*fakeTimer
}

// NewFake returns a Fake whose current time is start.
func NewFake(start time.Time) *Fake { return &Fake{now: start} }

// Now returns the current time of the Fake.
func (c *Fake) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc schedules f for the [Fake.Step] that reaches d from now, or for the
// next one, even of zero, if d is zero or negative.
func (c *Fake) AfterFunc(d time.Duration, f func()) Timer {
	t := &fakeTimer{clock: c, call: f}
	t.Reset(d)
	return t
}

// Step moves the clock by d, which may be negative. It then calls every
// function that is due, on this goroutine, in the order of their times, or of
// the calls that scheduled them. If a function schedules a call that is already
// due, the same Step makes that call.
//
// A panic of a function passes through Step. The functions due after it stay
// pending.
func (c *Fake) Step(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	for {
		call := c.takeDue()
		if call == nil {
			return
		}
		call()
	}
}

// Timers returns the number of pending calls.
func (c *Fake) Timers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// Next returns the time until the earliest pending call, if there is one.
func (c *Fake) Next() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.earliestLocked()
	if i < 0 {
		return 0, false
	}
	return c.pending[i].due.Sub(c.now), true
}

func (c *Fake) takeDue() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.earliestLocked()
	if i < 0 || c.pending[i].due.After(c.now) {
		return nil
	}
	t := c.pending[i]
	c.removeLocked(i)
	return t.call
}

func (c *Fake) earliestLocked() int {
	best := -1
	for i, t := range c.pending {
		if best < 0 || t.before(c.pending[best]) {
			best = i
		}
	}
	return best
}

func (c *Fake) removeLocked(i int) {
	last := len(c.pending) - 1
	c.pending[i] = c.pending[last]
	c.pending[last] = nil
	c.pending = c.pending[:last]
}

type fakeTimer struct {
	clock  *Fake
	call   func()
	due    time.Time
	serial uint64
}

func (t *fakeTimer) before(u *fakeTimer) bool {
	if t.due.Equal(u.due) {
		return t.serial < u.serial
	}
	return t.due.Before(u.due)
}

func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.stopLocked()
}

func (t *fakeTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.stopLocked()
	t.clock.serial++
	t.serial = t.clock.serial
	t.due = t.clock.now.Add(d)
	t.clock.pending = append(t.clock.pending, t)
	return was
}

func (t *fakeTimer) stopLocked() bool {
	for i, p := range t.clock.pending {
		if p == t {
			t.clock.removeLocked(i)
			return true
		}
	}
	return false
}
