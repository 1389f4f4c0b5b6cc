package limiter

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Backoff is a sequence of delays that grow by a factor and are spread by
// jitter. It has the fields of package wait of apimachinery, whose Backoff converts
// to this one: limiter.Backoff(b). It also has its rules, but for Steps of 0: there
// they mean that nothing ever grows.
//
// As a plain value it is a recipe: [NewItemBackoff] and [NewManager] take one
// and leave it alone. [Backoff.Step] uses the value up: it is then not safe for
// concurrent use.
type Backoff struct {
	// Duration is the first delay, before jitter. Negative values count as 0.
	Duration time.Duration

	// Factor is what the delay is multiplied by from one step to the next. With
	// 0 it stays as it is; negative values and NaN count as 0. What would be
	// longer than a time.Duration can be becomes the longest one.
	Factor float64

	// Jitter lengthens each delay by a random share of itself, from 0 to
	// Jitter, evenly spread. It does not add up from step to step. 0 means
	// none, as do negative values and NaN.
	Jitter float64

	// Steps is how many more times the delay may grow. With 0 there is no bound, so
	// that it grows up to Cap. With less than 0 it does not change any more.
	Steps int

	// Cap bounds the growth: a delay that would grow beyond it becomes Cap, and
	// then grows no more. 0 means no bound, as do negative values.
	Cap time.Duration
}

// Step returns the next delay, at least 0, and moves b on to the one after it:
// Duration grows, Steps goes down, from 1 to -1, and to -1 at once when Duration
// comes to Cap, because 0 is no bound. When the steps are used up, Step keeps on
// returning the last Duration, with fresh jitter: it never ends.
//
// As in package wait, jitter comes on top of Cap, so that those who have all
// reached it are still spread; and a first Duration above Cap is returned as it
// is. A nil Backoff returns 0.
//
// Step takes its random numbers from [rand.Float64]; see [Backoff.StepWith].
func (b *Backoff) Step() time.Duration { return b.StepWith(rand.Float64) }

// StepWith is Step with a random source of one's own, of which the same is asked
// as of [Options].Random. It is called only if there is jitter.
func (b *Backoff) StepWith(random func() float64) time.Duration {
	if b == nil {
		return 0
	}
	var drawn float64
	if b.jittered() {
		drawn = unit(random())
	}
	return b.step(drawn)
}

func (b *Backoff) jittered() bool { return b.Jitter > 0 }

// step is Step with the random number already drawn.
func (b *Backoff) step(random float64) time.Duration {
	delay := max(b.Duration, 0)
	b.Duration, b.Steps = b.next(delay)
	return b.spread(delay, random)
}

// next returns the Duration and the Steps that follow delay.
func (b *Backoff) next(delay time.Duration) (time.Duration, int) {
	switch grown := scaled(delay, b.Factor); {
	case b.Steps < 0:
		return delay, b.Steps
	case !(b.Factor > 0):
		return delay, b.fewerSteps()
	case b.Cap > 0 && grown > b.Cap:
		return b.Cap, usedUp
	default:
		return grown, b.fewerSteps()
	}
}

// usedUp is what Steps are when there are none left. 0 is no bound.
const usedUp = -1

// fewerSteps returns the steps that are left after another one.
func (b *Backoff) fewerSteps() int {
	switch b.Steps {
	case 0:
		return 0
	case 1:
		return usedUp
	}
	return b.Steps - 1
}

// spread returns delay with its jitter.
func (b *Backoff) spread(delay time.Duration, random float64) time.Duration {
	if !b.jittered() {
		return delay
	}
	extra := scaled(delay, random*b.Jitter)
	if extra > math.MaxInt64-delay {
		return math.MaxInt64
	}
	return delay + extra
}

// scaled returns d·factor, cut to what a time.Duration can hold, for a d of at
// least 0. A product that is negative or not a number becomes 0.
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

// unit moves x into the range from 0 to 1, and NaN to 0.
func unit(x float64) float64 {
	if x > 0 {
		return min(x, 1)
	}
	return 0
}
