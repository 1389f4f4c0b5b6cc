package limiter

import (
	"math/rand/v2"
	"time"

	"github.com/shardq/shardq/clock"
)

// Options configure the constructors of this package; each says which of the
// fields it reads. The zero Options stand for the defaults. A constructor takes
// any number of them: a field takes the last value that is not zero, so a
// default of one's own can be handed on and refined. Options are read once and
// never modified.
type Options struct {
	// Clock is the source of time. It is called with no lock held.
	// Default: [clock.Real].
	Clock clock.Clock

	// Random returns the next number of a random sequence, at least 0 and less
	// than 1; values beyond are moved to the nearest bound, and NaN to 0. It
	// must be safe for concurrent use. It is called with no lock held.
	// Default: [rand.Float64].
	Random func() float64

	// ForgetAfter is how long a history is kept while nothing fails: once the
	// delay last returned has passed, and then ForgetAfter without a further
	// failure, the history is as good as forgotten. The delay is part of the
	// rule so that a back-off that still runs is never shortened. Choose it far
	// above the time that an item spends being queued and processed after its
	// delay, or each failure will look like the first. If the clock is set back,
	// histories are kept for as much longer.
	// Default, and for negative values: a history is kept until Forget.
	ForgetAfter time.Duration
}

// combine returns the options that a constructor was given as one, with every
// default filled in.
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
