package limiter

import (
	"math/rand/v2"
	"time"

	"github.com/shardq/shardq/clock"
)

// Options configures the constructors of this package. Each constructor names
// the fields that it reads. A constructor accepts any number of Options and
// uses, for each field, the last value that is not zero. So a caller can pass
// its own defaults and override some of them. Constructors read Options once
// and never modify them.
//
// The zero Options select the defaults.
type Options struct {
	// Clock is the source of time. The limiter calls it with no lock held.
	//
	// Defaults to [clock.Real].
	Clock clock.Clock

	// Random returns the next number of a random sequence, at least 0 and less
	// than 1. Numbers outside that range become the nearest bound, and NaN
	// becomes 0. Random must be safe for concurrent use. The limiter calls it
	// with no lock held.
	//
	// Defaults to [rand.Float64].
	Random func() float64

	// ForgetAfter limits how long a history is kept without a further failure.
	// The period starts at the deadline of the last delay, so that a running
	// backoff is never shortened. After it, the next failure counts as the
	// first.
	//
	// Choose a period far longer than an item needs to be queued and processed
	// after its delay, or every failure looks like the first. If the clock is
	// set back, histories are kept longer by that amount.
	//
	// If zero or negative, a history is kept until Forget.
	ForgetAfter time.Duration
}

// combine merges the options of a constructor and fills in every default.
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
