package limiter

import (
	"math"
	"time"

	"github.com/shardq/shardq/clock"
)

// An instant is a point in time on the axis of one clock, in nanoseconds since
// the limiter was made.
type instant int64

// idleness is the rule by which histories expire: see Options.ForgetAfter. It
// is the only code that reads the clock for that purpose.
type idleness struct {
	clock  clock.Clock
	origin time.Time
	after  time.Duration // if zero, histories do not expire
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

// now reads the clock if histories expire. The clock is user code: hold no
// lock.
func (i *idleness) now() instant {
	if !i.expires() {
		return 0
	}
	return i.read()
}

func (i *idleness) read() instant { return instant(i.clock.Now().Sub(i.origin)) }

// end returns the instant at which a history expires if its last failure was at
// now and was answered with delay.
func (i *idleness) end(now instant, delay time.Duration) instant {
	return now.plus(delay).plus(i.after)
}

// over reports whether a history that expires at end has expired.
func (i *idleness) over(now, end instant) bool { return i.expires() && now >= end }

// plus returns the instant d later, for d of at least 0. It saturates at the
// end of the axis, which no clock reaches, so a history that would expire
// beyond it never does.
func (t instant) plus(d time.Duration) instant {
	if t > math.MaxInt64-instant(d) {
		return math.MaxInt64
	}
	return t + instant(d)
}
