package clock

import (
	"sync"
	"time"
)

// Wall returns a clock of wall time, for deadlines that are moments of the
// calendar, or that go on while the machine is suspended. The monotonic clock
// stands still during a suspension.
//
// If a suspension or a step forward passes a deadline, its call comes within 30
// s, because a timer looks at the clock that often. If the clock is set back,
// deadlines are later by as much.
func Wall() Clock { return &wall }

var wall = wallClock(time.Now)

type wallClock func() time.Time

func (c *wallClock) Now() time.Time { return (*c)().Round(0) }

func (c *wallClock) AfterFunc(d time.Duration, f func()) Timer {
	t := &wallTimer{clock: c, call: f}
	t.Reset(d)
	return t
}

type wallTimer struct {
	clock *wallClock
	call  func()

	mu    sync.Mutex
	due   time.Time // zero while no call is pending
	timer *time.Timer
}

func (t *wallTimer) Stop() bool                 { return t.set(time.Time{}) }
func (t *wallTimer) Reset(d time.Duration) bool { return t.set(t.clock.Now().Add(d)) }

func (t *wallTimer) set(due time.Time) (was bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if was, t.due = !t.due.IsZero(), due; due.IsZero() {
		t.timer.Stop()
	} else {
		t.waitLocked(due.Sub(t.clock.Now()))
	}
	return was
}

const mostWait = 30 * time.Second

func (t *wallTimer) waitLocked(d time.Duration) {
	if d = min(d, mostWait); t.timer == nil {
		t.timer = time.AfterFunc(d, t.look)
	} else {
		t.timer.Reset(d)
	}
}

// look may come too late, after a Stop or a Reset, and goes by due.
func (t *wallTimer) look() {
	t.mu.Lock()
	left, pending := t.due.Sub(t.clock.Now()), !t.due.IsZero()
	if left > 0 {
		t.waitLocked(left)
	} else {
		t.due = time.Time{}
	}
	t.mu.Unlock()
	if left <= 0 && pending {
		t.call()
	}
}
