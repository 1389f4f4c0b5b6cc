package limiter

import "time"

// NewExponential returns a limiter that doubles an item's delay with each
// failure. The first failure waits base, the n-th base·2ⁿ⁻¹, and none longer
// than max. The limiter is client-go's ItemExponentialFailureRateLimiter,
// except that its delays never overflow.
//
// It keeps a history of each item that has failed, until Forget or until the
// history expires: see [Options].ForgetAfter. It reads ForgetAfter and, if that
// is set, Clock.
//
// If base or max is zero or negative, there is no delay. If base exceeds max,
// every delay is max.
func NewExponential[T comparable](base, max time.Duration, options ...Options) Limiter[T] {
	return newPerItem[T](exponential(base, max), combine(options))
}

// exponential returns base·2ⁿ for n failures, at least 0 and at most limit.
func exponential(base, limit time.Duration) curve {
	base, limit = max(base, 0), max(limit, 0)
	return func(failures int, _ float64) time.Duration {
		// Shifting limit down cannot overflow, and shifting base up could. A
		// shift by 63 or more leaves 0 of limit.
		if base > limit>>failures {
			return limit
		}
		return base << failures
	}
}
