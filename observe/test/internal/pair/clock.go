package pair

import (
	"time"

	"k8s.io/utils/clock"
	fakeclock "k8s.io/utils/clock/testing"
)

// renewal is the interval at which client-go renews its value of unfinished
// work.
const renewal = 500 * time.Millisecond

// A steppedClock is a fake clock on which the renewal happens on request, at
// any time. So the values of client-go can be compared at any moment.
type steppedClock struct {
	*fakeclock.FakeClock
	renew chan time.Time
}

func newSteppedClock(start time.Time) *steppedClock {
	return &steppedClock{fakeclock.NewFakeClock(start), make(chan time.Time)}
}

func (c *steppedClock) NewTicker(d time.Duration) clock.Ticker {
	if d == renewal {
		return requested(c.renew)
	}
	return c.FakeClock.NewTicker(d)
}

// requested is a ticker that ticks on request.
type requested chan time.Time

func (t requested) C() <-chan time.Time { return t }
func (t requested) Stop()               {}
