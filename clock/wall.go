package clock

import (
	"sync"
	"time"
)

// mostWait is how late a timer of [Wall] can be after a step of the wall clock,
// or after the machine was suspended.
const mostWait = 30 * time.Second

// Wall returns a clock of wall time, for deadlines that are moments of the
// calendar, or that go on while the machine is suspended. Its times carry no
// monotonic clock, which stands still then.
//
// A step of the wall clock moves all deadlines with it. If it is set forward,
// those that it passes are reached within 30 s. If it is set back, deadlines are
// later by that much. A timer wakes up at least every 30 s while it is set.
func Wall() Clock { return wall }

var wall = &wallClock{time.Now}

type wallClock struct{ now func() time.Time }

func (c *wallClock) Now() time.Time { return c.now().Round(0) }

func (c *wallClock) AfterFunc(d time.Duration, f func()) Timer {
	t := &wallTimer{clock: c, call: f}
	t.Reset(d)
	return t
}

type wallTimer struct {
	clock *wallClock
	call  func()

	mu      sync.Mutex // not held while call runs
	pending bool
	due     time.Time
	timer   *time.Timer
}

func (t *wallTimer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.pending
	t.pending = false
	t.timer.Stop()
	return was
}

func (t *wallTimer) Reset(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.pending
	t.pending, t.due = true, t.clock.Now().Add(d)
	if wait := min(d, mostWait); t.timer == nil {
		t.timer = time.AfterFunc(wait, t.look)
	} else {
		t.timer.Reset(wait)
	}
	return was
}

// look may run late, after a Stop or a Reset, so it goes by pending and due.
func (t *wallTimer) look() {
	if t.isDue() {
		t.call()
	}
}

func (t *wallTimer) isDue() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.due.Sub(t.clock.Now())
	if t.pending && left > 0 {
		t.timer.Reset(min(left, mostWait))
		return false
	}
	was := t.pending
	t.pending = false
	return was
}
