package limiter

import "time"

// A Limiter decides how long an item is held back before it is tried again.
//
// Every Limiter of this package is safe for concurrent use, never blocks beyond
// a few nanoseconds of mutual exclusion, and must not be copied. The method set
// is that of client-go's TypedRateLimiter, so each of the two types is
// assignable to the other. Whoever implements Limiter must make it safe for
// concurrent use too.
type Limiter[T comparable] interface {
	// When counts one more failure of the item, and returns how long the item
	// is to wait from now: zero or more.
	When(item T) time.Duration
	// Forget ends the item's history: its next failure counts as its first.
	// Call it when the item has succeeded, and when it is given up.
	// Forgetting an item that has no history does nothing.
	Forget(item T)
	// NumRequeues returns the number of failures of the item since the last
	// Forget; 0 for an item without a history.
	NumRequeues(item T) int
}
