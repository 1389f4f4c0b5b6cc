package limiter

import (
	"math"
	"time"
)

// NewExponential returns a limiter that doubles an item's delay with each
// failure. The first failure waits base, the n-th base·2ⁿ⁻¹, and none longer
// than limit. It reads ForgetAfter and Clock. [NewItemBackoff] can do the same
// with jitter, for items that fail together.
func NewExponential[T comparable](base, limit time.Duration, options ...Options) Limiter[T] {
	base, limit = max(base, 0), max(limit, 0)
	doubled := func(failures int, _ float64) time.Duration {
		if base > limit>>failures { // shifting base up could overflow
			return limit
		}
		return base << failures
	}
	return &perItem[T]{curve: doubled, idle: newIdleness(combine(options))}
}

// NewFastSlow returns a limiter that delays an item by fast for each of its
// first attempts failures, and by slow for each later one, as client-go's
// ItemFastSlowRateLimiter does. It reads Options as [NewExponential] does.
func NewFastSlow[T comparable](fast, slow time.Duration, attempts int, options ...Options) Limiter[T] {
	fast, slow = max(fast, 0), max(slow, 0)
	twoSpeeds := func(failures int, _ float64) time.Duration {
		if failures < attempts {
			return fast
		}
		return slow
	}
	return &perItem[T]{curve: twoSpeeds, idle: newIdleness(combine(options))}
}

// NewItemBackoff returns a limiter that follows a [Backoff] per item. With a
// Cap, no delay is longer, including jitter: before jitter it is at most
// Cap/(1+Jitter), so that items that have all reached Cap do not become ready
// together. It reads Options as [NewExponential] does, and Random.
func NewItemBackoff[T comparable](backoff Backoff, options ...Options) Limiter[T] {
	o := combine(options)
	limiter := &perItem[T]{curve: backoff.curve(), idle: newIdleness(o)}
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

func (b *Backoff) grown(times int) time.Duration {
	if b.Steps != 0 {
		times = min(times, b.Steps)
	}
	if times < 1 || !(b.Factor > 0) {
		return max(b.Duration, 0)
	}
	return scaled(max(b.Duration, 0), math.Pow(b.Factor, float64(times)))
}
