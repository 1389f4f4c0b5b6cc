package limiter

import (
	"math"
	"time"
)

// NewItemBackoff returns a limiter that follows a [Backoff] per item. The n-th
// failure waits Duration·Factorⁿ⁻¹, with jitter. The exponent stops growing at
// Steps, if there are any. That is what the n-th [Backoff.Step] returns, with
// two exceptions:
//   - With a Cap, no delay is longer, including jitter. The delay before jitter
//     is at most Cap/(1+Jitter), so that items that have all reached Cap do not
//     become ready together.
//   - Fractions of a nanosecond are not dropped at every step.
//
// Every delay is at least 0.
//
// The limiter keeps a history of each item that has failed, until Forget or
// until the history expires: see [Options].ForgetAfter. It reads ForgetAfter,
// Clock if that is set, and Random if there is jitter.
func NewItemBackoff[T comparable](backoff Backoff, options ...Options) Limiter[T] {
	o := combine(options)
	limiter := newPerItem[T](backoff.curve(), o)
	if backoff.jittered() {
		limiter.random = o.Random
	}
	return limiter
}

// curve returns the delay as a function of the number of failures alone, so
// that a history need not hold a Backoff.
func (b Backoff) curve() curve {
	longest := time.Duration(math.MaxInt64)
	if b.Cap > 0 {
		longest = b.Cap
	}
	spreadable := longest
	if b.Cap > 0 && b.jittered() {
		spreadable = max(scaled(longest, 1/(1+b.Jitter)), 1) // at least 1, for any jitter
	}
	return func(failures int, random float64) time.Duration {
		return min(b.spread(min(b.grown(failures), spreadable), random), longest)
	}
}

// grown returns Duration after it has grown the given number of times, limited
// by Steps.
func (b *Backoff) grown(times int) time.Duration {
	duration := max(b.Duration, 0)
	if b.Steps != 0 {
		times = min(times, b.Steps)
	}
	if times < 1 || !(b.Factor > 0) {
		return duration
	}
	return scaled(duration, math.Pow(b.Factor, float64(times)))
}
