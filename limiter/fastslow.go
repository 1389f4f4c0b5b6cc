package limiter

import "time"

// NewFastSlow returns a limiter that delays an item by fast for each of its
// first attempts failures, and by slow for each later one. It is client-go's
// ItemFastSlowRateLimiter.
//
// It keeps a history of each item that has failed, until Forget or until the
// history expires: see [Options].ForgetAfter. It reads ForgetAfter and, if that
// is set, Clock.
//
// Negative delays count as 0. If attempts is zero or negative, every delay is
// slow.
func NewFastSlow[T comparable](fast, slow time.Duration, attempts int, options ...Options) Limiter[T] {
	return newPerItem[T](fastSlow(fast, slow, attempts), combine(options))
}

func fastSlow(fast, slow time.Duration, attempts int) curve {
	fast, slow = max(fast, 0), max(slow, 0)
	return func(failures int, _ float64) time.Duration {
		if failures < attempts {
			return fast
		}
		return slow
	}
}
