package queue

import (
	"sync"
	"time"

	kubernetes "k8s.io/utils/clock"

	"github.com/shardq/shardq/clock"
)

// FromClock adapts a clock of k8s.io/utils. Each timer that is set has a
// goroutine, because AfterFunc of a FakeClock calls its function with the lock
// of the clock held.
func FromClock(from kubernetes.Clock) clock.Clock {
	if _, ok := from.(kubernetes.RealClock); ok || from == nil {
		return clock.Real()
	}
	return bridge{from}
}

type bridge struct{ kubernetes.Clock }

func (b bridge) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &timer{clock: b.Clock, f: f}
	t.Reset(d)
	return t
}

type timer struct {
	clock kubernetes.Clock
	f     func()

	mu    sync.Mutex
	waits *wait // that is under way, or nil
}

type wait struct {
	timer    kubernetes.Timer // nil if the wait is over at once
	canceled chan struct{}
}

func (t *timer) Reset(d time.Duration) (active bool) {
	w := &wait{canceled: make(chan struct{})}
	if d > 0 { // a FakeClock would wait for its next step
		w.timer = t.clock.NewTimer(d)
	}
	active = t.replace(w)
	go t.run(w)
	return active
}

func (t *timer) Stop() (active bool) { return t.replace(nil) }

func (t *timer) replace(next *wait) (active bool) {
	t.mu.Lock()
	before := t.waits
	t.waits = next
	t.mu.Unlock()
	if before != nil {
		close(before.canceled)
		if before.timer != nil {
			before.timer.Stop()
		}
	}
	return before != nil
}

func (t *timer) run(w *wait) {
	if w.timer != nil {
		select {
		case <-w.canceled:
			return
		case <-w.timer.C():
		}
	}
	t.mu.Lock()
	fires := t.waits == w
	if fires {
		t.waits = nil
	}
	t.mu.Unlock()
	if fires {
		t.f()
	}
}
