package limiter

import "time"

// NewFastSlow returns a limiter that makes an item wait fast for each of its
// first attempts failures, and slow for each one after. It is client-go's
// ItemFastSlowRateLimiter. Negative delays count as 0; attempts of 0 or less
// mean that every failure waits slow.
//
// It keeps a history of each item that has failed, until Forget, or until it
// expires: see [Options].ForgetAfter. It reads ForgetAfter and, if that is set,
// Clock.
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
