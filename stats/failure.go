package stats

import "time"

// A Failure describes an attempt of a worker that failed some time ago.
type Failure[T comparable] struct {
	Item    T
	Group   string    // empty if the queue has no groups
	Attempt int       // from 1
	Time    time.Time // by the queue's clock
	// Error is the text of the error, or of the value of a panic, cut after 512
	// bytes. The handler has chosen it, so it may have secrets.
	Error     string
	Panicked  bool
	Discarded bool
	// Reason says why the item was discarded: "permanent" if the error was, or
	// "exhausted" after the last attempt. It is empty if the item runs again.
	Reason string
}

// Any returns f with its item as an any.
func (f Failure[T]) Any() Failure[any] {
	return Failure[any]{f.Item, f.Group, f.Attempt, f.Time, f.Error, f.Panicked, f.Discarded, f.Reason}
}
