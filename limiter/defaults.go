package limiter

import (
	"time"

	"golang.org/x/time/rate"
)

// DefaultController returns the default limiter of controllers. Its delay is
// the longer one of a per-item exponential backoff, from 5 ms to 1000 s, and of
// a token bucket for all items. The bucket earns 10 tokens per second, with a
// burst of 100. The limiter is client-go's DefaultTypedControllerRateLimiter.
// It reads Clock and ForgetAfter.
func DefaultController[T comparable](options ...Options) Limiter[T] {
	return NewMaxOf(
		NewExponential[T](5*time.Millisecond, 1000*time.Second, options...),
		NewBucket[T](rate.NewLimiter(10, 100), options...),
	)
}

// DefaultItemBased returns a per-item exponential backoff, from 1 ms to 1000 s.
// It is client-go's DefaultTypedItemBasedRateLimiter. It reads ForgetAfter and,
// if that is set, Clock.
func DefaultItemBased[T comparable](options ...Options) Limiter[T] {
	return NewExponential[T](time.Millisecond, 1000*time.Second, options...)
}
