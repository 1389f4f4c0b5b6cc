package limiter

import (
	"math"
	"time"

	"github.com/shardq/shardq/clock"
)

// An instant is a point on the axis of one clock, in nanoseconds since the
// clock's reading when the limiter was made.
type instant int64

// idleness is the rule by which histories expire: see Options.ForgetAfter. All
// that the package knows of time on that account is written here.
type idleness struct {
	clock  clock.Clock
	origin time.Time
	after  time.Duration // zero: histories do not expire
}

func newIdleness(o Options) idleness {
	i := idleness{clock: o.Clock, after: o.ForgetAfter}
	if i.expires() {
		i.origin = i.clock.Now()
	}
	return i
}

// expires reports whether histories expire at all.
func (i *idleness) expires() bool { return i.after > 0 }

// now reads the clock, if time matters. That is user code: hold no lock.
func (i *idleness) now() instant {
	if !i.expires() {
		return 0
	}
	return i.read()
}

func (i *idleness) read() instant { return instant(i.clock.Now().Sub(i.origin)) }

// end returns the instant at which a history expires whose last failure was now
// and was answered with delay.
func (i *idleness) end(now instant, delay time.Duration) instant {
	return now.plus(delay).plus(i.after)
}

// over reports whether a history that ends at end has expired.
func (i *idleness) over(now, end instant) bool { return i.expires() && now >= end }

// plus returns the instant d later, d not negative. It stops at the end of the
// axis, which no clock reaches: what would end beyond it never ends.
func (t instant) plus(d time.Duration) instant {
	if t > math.MaxInt64-instant(d) {
		return math.MaxInt64
	}
	return t + instant(d)
}
