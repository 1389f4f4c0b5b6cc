package limiter

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/shardq/shardq/clock"
)

// Options configures the constructors of this package. Each constructor names
// the fields that it reads.
type Options struct {
	// Clock is the source of time, by default [clock.Real].
	Clock clock.Clock
	// Random returns a random number, at least 0 and less than 1. It must be
	// safe for concurrent use. If nil, it is [rand.Float64].
	Random func() float64
	// ForgetAfter limits how long a history is kept without a further failure,
	// from the deadline of the last delay on. Choose a period far longer than
	// an item needs to be queued and processed. If zero or negative, a history
	// is kept until Forget.
	ForgetAfter time.Duration
}

func combine(options []Options) Options {
	combined := Options{Clock: clock.Real(), Random: rand.Float64}
	for _, o := range options {
		if o.Clock != nil {
			combined.Clock = o.Clock
		}
		if o.Random != nil {
			combined.Random = o.Random
		}
		if o.ForgetAfter != 0 {
			combined.ForgetAfter = max(o.ForgetAfter, 0)
		}
	}
	return combined
}

// idleness is the rule by which histories expire: see Options.ForgetAfter. Its
// times are those since the limiter was made, on the axis of its clock.
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

func (i *idleness) expires() bool { return i.after > 0 }

// now reads the clock if histories expire. Hold no lock: it is user code.
func (i *idleness) now() time.Duration {
	if !i.expires() {
		return 0
	}
	return i.clock.Now().Sub(i.origin)
}

func (i *idleness) end(now, delay time.Duration) time.Duration {
	return sum(sum(now, delay), i.after)
}

func (i *idleness) over(now, end time.Duration) bool { return i.expires() && now >= end }

// sum saturates at a time that no clock reaches, for b of at least 0.
func sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
