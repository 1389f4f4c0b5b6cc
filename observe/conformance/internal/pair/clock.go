package pair

import (
	"time"

	"k8s.io/utils/clock"
	fakeclock "k8s.io/utils/clock/testing"
)

// renewal is how often client-go renews what it says of unfinished work.
const renewal = 500 * time.Millisecond

// A steppedClock is a fake clock on which the renewal comes when it is told to, whatever the time:
// so what client-go says can be compared at any moment.
type steppedClock struct {
	*fakeclock.FakeClock
	renew chan time.Time
}

func newSteppedClock(start time.Time) *steppedClock {
	return &steppedClock{fakeclock.NewFakeClock(start), make(chan time.Time)}
}

func (c *steppedClock) NewTicker(d time.Duration) clock.Ticker {
	if d == renewal {
		return told(c.renew)
	}
	return c.FakeClock.NewTicker(d)
}

// told is a ticker that ticks when it is told to.
type told chan time.Time

func (t told) C() <-chan time.Time { return t }
func (t told) Stop()               {}
