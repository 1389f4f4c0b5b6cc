package limiter

import "time"

// A Limiter decides how long an item is held back before it is tried again.
type Limiter[T comparable] interface {
	When(item T) time.Duration
	Forget(item T)
	NumRequeues(item T) int
}
