package limiter

import "time"

// A Limiter computes how long an item is delayed before it is tried again. It
// must be safe for concurrent use.
type Limiter[T comparable] interface {
	// When counts one more failure of the item and returns its delay.
	When(item T) time.Duration
	// Forget deletes the item's history, so that its next failure counts as its
	// first. Call it when the item has succeeded or is discarded.
	Forget(item T)
	// NumRequeues returns the number of failures of the item since its Forget.
	NumRequeues(item T) int
}

// Counts reports whether a limiter counts failures: a bucket alone does not. It
// returns true for a limiter of another package.
func Counts[T comparable](l Limiter[T]) bool {
	c, is := l.(interface{ counts() bool })
	return !is || c.counts()
}
