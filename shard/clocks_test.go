package shard

import (
	"sync"
	"time"

	"github.com/shardq/shardq/clock"
)

// A meddlingClock is a Fake. Before or after a call it does what a test has
// requested, on the goroutine of that call.
type meddlingClock struct {
	*clock.Fake
	mu     sync.Mutex
	meddle map[point]func()
}

// A point is where a meddlingClock can meddle.
type point string

const (
	beforeNow       point = "before Now"
	afterNow        point = "after Now"
	beforeAfterFunc point = "before AfterFunc"
	afterAfterFunc  point = "after AfterFunc"
	beforeReset     point = "before Reset"
	afterReset      point = "after Reset"
	beforeStop      point = "before Stop"
	afterStop       point = "after Stop"
)

var points = []point{beforeNow, afterNow, beforeAfterFunc, afterAfterFunc,
	beforeReset, afterReset, beforeStop, afterStop}

func newMeddlingClock() *meddlingClock {
	return &meddlingClock{Fake: clock.NewFake(start), meddle: map[point]func(){}}
}

// at calls do once, at the n-th passing of a point from now on. The next
// passing is the first.
func (c *meddlingClock) at(p point, n int, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meddle[p] = func() {
		n--
		if n == 0 {
			c.leave(p)
			do()
		}
	}
}

// leave ends the meddling at a point.
func (c *meddlingClock) leave(p point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.meddle, p)
}

// pass meddles. No lock is held meanwhile.
func (c *meddlingClock) pass(p point) {
	c.mu.Lock()
	do := c.meddle[p]
	c.mu.Unlock()
	if do != nil {
		do()
	}
}

func (c *meddlingClock) Now() time.Time {
	c.pass(beforeNow)
	defer c.pass(afterNow)
	return c.Fake.Now()
}

func (c *meddlingClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.pass(beforeAfterFunc)
	t := &meddlingTimer{clock: c, Timer: c.Fake.AfterFunc(d, f)}
	c.pass(afterAfterFunc)
	return t
}

type meddlingTimer struct {
	clock *meddlingClock
	clock.Timer
}

func (t *meddlingTimer) Reset(d time.Duration) bool {
	t.clock.pass(beforeReset)
	was := t.Timer.Reset(d)
	t.clock.pass(afterReset)
	return was
}

func (t *meddlingTimer) Stop() bool {
	t.clock.pass(beforeStop)
	was := t.Timer.Stop()
	t.clock.pass(afterStop)
	return was
}
