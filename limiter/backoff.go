package limiter

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Backoff is a sequence of delays that grow by a factor and are spread by
// jitter. It follows the rules of apimachinery's package wait, except if Steps
// is 0.
type Backoff struct {
	// Duration is the first delay, before jitter. Negative values count as 0.
	Duration time.Duration
	// Factor multiplies the delay from one step to the next. If it is zero,
	// negative or NaN, the delay stays the same.
	Factor float64
	// Jitter lengthens each delay by a random share of itself, uniformly
	// distributed from 0 to Jitter.
	Jitter float64
	// Steps limits how many more times the delay may grow. If it is zero, the
	// delay grows up to Cap. If it is negative, the delay no longer changes.
	Steps int
	// Cap limits the growth. A delay that would grow beyond it becomes Cap and
	// then grows no more. If Cap is zero or negative, there is no limit.
	Cap time.Duration
}

// Step returns the next delay and advances b to the one after it. It lowers a
// Steps of 1 to -1, because 0 would mean no limit. As in package wait, jitter is
// added on top of Cap, so that callers that have all reached Cap remain spread.
func (b *Backoff) Step() time.Duration {
	if b == nil {
		return 0
	}
	return b.step(rand.Float64())
}

// Jitter returns d, lengthened by a random share of itself, from 0 to factor, so
// that items which are requeued together do not come back together. A factor
// that is not positive adds nothing. The result is never negative, and never
// overflows.
func Jitter(d time.Duration, factor float64) time.Duration {
	b := Backoff{Duration: d, Jitter: factor}
	return b.Step()
}

func (b *Backoff) jittered() bool { return b.Jitter > 0 }

func (b *Backoff) step(random float64) time.Duration {
	delay := max(b.Duration, 0)
	b.Duration, b.Steps = b.next(delay)
	return b.spread(delay, random)
}

// usedUp is the value of Steps when none are left, because 0 means no limit.
const usedUp = -1

func (b *Backoff) next(delay time.Duration) (time.Duration, int) {
	if b.Steps < 0 {
		return delay, b.Steps
	}
	steps := max(b.Steps-1, 0)
	if b.Steps == 1 {
		steps = usedUp
	}
	if !(b.Factor > 0) {
		return delay, steps
	}
	grown := scaled(delay, b.Factor)
	if b.Cap > 0 && grown > b.Cap {
		return b.Cap, usedUp
	}
	return grown, steps
}

func (b *Backoff) spread(delay time.Duration, random float64) time.Duration {
	if !b.jittered() {
		return delay
	}
	return sum(delay, scaled(delay, random*b.Jitter))
}

// scaled saturates. A product that is negative or NaN becomes 0.
func scaled(d time.Duration, factor float64) time.Duration {
	switch product := float64(d) * factor; {
	case product >= math.MaxInt64:
		return math.MaxInt64
	case product > 0:
		return time.Duration(product)
	default:
		return 0
	}
}

func unit(x float64) float64 {
	if x > 0 {
		return min(x, 1)
	}
	return 0
}
