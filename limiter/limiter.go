package limiter

import "time"

// A Limiter computes how long an item is delayed before it is tried again.
//
// Every Limiter of this package is safe for concurrent use and must not be
// copied. Other implementations must be safe for concurrent use too. The method
// set is that of client-go's TypedRateLimiter, so values of either interface
// are assignable to the other.
type Limiter[T comparable] interface {
	// When counts one more failure of the item and returns the delay before the
	// next attempt, zero or more.
	When(item T) time.Duration
	// Forget deletes the item's history, if there is one, so that its next
	// failure counts as its first. Call it when the item has succeeded or is
	// discarded.
	Forget(item T)
	// NumRequeues returns the number of failures of the item since the last
	// Forget.
	NumRequeues(item T) int
}
