package limiter

import (
	"math"
	"time"
)

// NewItemBackoff returns a limiter that follows a [Backoff] for each item of its
// own: the n-th failure waits Duration·Factorⁿ⁻¹, with jitter, where the exponent
// stops growing at Steps, if there are any. That is what the n-th [Backoff.Step] returns, except
// that
//   - with a Cap, no delay is longer, jitter included. What is spread is
//     therefore at most Cap/(1+Jitter), so that items which have all reached it
//     do not meet again at Cap itself.
//   - fractions of a nanosecond are not dropped at every step.
//
// Every delay is at least 0.
//
// It keeps a history of each item that has failed, until Forget, or until it
// expires: see [Options].ForgetAfter. It reads ForgetAfter, if that is set
// Clock, and if there is jitter Random.
func NewItemBackoff[T comparable](backoff Backoff, options ...Options) Limiter[T] {
	o := combine(options)
	limiter := newPerItem[T](backoff.curve(), o)
	if backoff.jittered() {
		limiter.random = o.Random
	}
	return limiter
}

// curve returns the delay after n failures, as a function of n alone: an item's
// history need not hold a Backoff.
func (b Backoff) curve() curve {
	longest := time.Duration(math.MaxInt64)
	if b.Cap > 0 {
		longest = b.Cap
	}
	spreadable := longest
	if b.Cap > 0 && b.jittered() {
		spreadable = max(scaled(longest, 1/(1+b.Jitter)), 1) // however large the jitter
	}
	return func(failures int, random float64) time.Duration {
		return min(b.spread(min(b.grown(failures), spreadable), random), longest)
	}
}

// grown returns Duration after it has grown so many times, or as often as Steps say.
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
