package clock

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// A Fake is a [Clock] that moves only when [Fake.Step] is called. It is safe
// for concurrent use and must not be copied.
type Fake struct {
	mu      sync.Mutex
	now     time.Time
	pending []*fakeTimer // the earliest first
}

// NewFake returns a Fake whose current time is start.
func NewFake(start time.Time) *Fake { return &Fake{now: start} }

// Now returns the current time of the Fake.
func (c *Fake) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc schedules f for the [Fake.Step] that reaches d from now. If d is
// zero or negative, that is the next Step, even a Step of zero.
func (c *Fake) AfterFunc(d time.Duration, f func()) Timer {
	t := &fakeTimer{clock: c, call: f}
	t.Reset(d)
	return t
}

// Step moves the clock by d, which may be negative. It then calls every
// function that is due, on this goroutine, in the order of their times and of
// their scheduling. If a function schedules a call that is already due, the
// same Step makes it. A panic passes through Step. The functions due after it
// stay pending.
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
	if len(c.pending) == 0 {
		return 0, false
	}
	return c.pending[0].due.Sub(c.now), true
}

func (c *Fake) takeDue() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 || c.pending[0].due.After(c.now) {
		return nil
	}
	t := c.pending[0]
	c.pending = slices.Delete(c.pending, 0, 1)
	return t.call
}

type fakeTimer struct {
	clock *Fake
	call  func()
	due   time.Time
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
	t.due = t.clock.now.Add(d)
	at, _ := slices.BinarySearchFunc(t.clock.pending, t.due, func(p *fakeTimer, due time.Time) int {
		return cmp.Or(p.due.Compare(due), -1) // behind those of the same time
	})
	t.clock.pending = slices.Insert(t.clock.pending, at, t)
	return was
}

func (t *fakeTimer) stopLocked() bool {
	i := slices.Index(t.clock.pending, t)
	if i >= 0 {
		t.clock.pending = slices.Delete(t.clock.pending, i, i+1)
	}
	return i >= 0
}
