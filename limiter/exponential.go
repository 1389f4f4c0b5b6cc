package limiter

import "time"

// NewExponential returns a limiter that doubles an item's delay with each
// failure: the first waits base, the n-th base·2ⁿ⁻¹, and none longer than max.
// It is client-go's ItemExponentialFailureRateLimiter, without its overflows:
// every delay is at least 0 and at most max, after any number of failures. A
// base of 0 or less means no delay, as does a max of 0 or less; a base above
// max means max always.
//
// It keeps a history of each item that has failed, until Forget, or until it
// expires: see [Options].ForgetAfter. It reads ForgetAfter and, if that is set,
// Clock.
func NewExponential[T comparable](base, max time.Duration, options ...Options) Limiter[T] {
	return newPerItem[T](exponential(base, max), combine(options))
}

// exponential returns base·2ⁿ for n failures, at least 0 and at most limit.
func exponential(base, limit time.Duration) curve {
	base, limit = max(base, 0), max(limit, 0)
	return func(failures int, _ float64) time.Duration {
		// Shifting the limit down instead of base up cannot overflow; a shift
		// by 63 or more leaves 0 of it.
		if base > limit>>failures {
			return limit
		}
		return base << failures
	}
}
