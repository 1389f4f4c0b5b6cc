package clock

import (
	"sync"
	"time"
)

// A Fake is a [Clock] that moves only when it is told to. It is safe for
// concurrent use; it must not be copied.
type Fake struct {
	mu      sync.Mutex
	now     time.Time
	serial  uint64
	pending []*fakeTimer
}

// NewFake returns a Fake that stands at start.
func NewFake(start time.Time) *Fake { return &Fake{now: start} }

// Now returns the time that the clock was last set to.
func (c *Fake) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc arranges for f to be called by the [Fake.Step] that reaches d from
// now. If d is zero or less, the next Step calls it, whatever its length.
func (c *Fake) AfterFunc(d time.Duration, f func()) Timer {
	t := &fakeTimer{clock: c, call: f}
	t.Reset(d)
	return t
}

// Step moves the clock by d, which may be negative, and calls, on this
// goroutine, every function that has become due: the earliest first, in the
// order of their arranging where they tie. The clock already stands at its new
// time when the first of them runs, as after a long stall of a real one.
// Functions that arrange further calls that are due already get them in the same
// Step. A panic of a function passes through Step; what was due after it stays
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

// Timers returns the number of calls that are arranged and have not come yet.
func (c *Fake) Timers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// Next returns how far the earliest arranged call is from now, and whether there
// is one.
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

// fakeTimer is guarded by its clock's mutex.
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
