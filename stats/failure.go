package stats

import "time"

// A Failure describes an attempt of a worker that failed some time ago.
type Failure[T comparable] struct {
	// Item is the item.
	Item T
	// Group is the group of the item.
	//
	// It is empty if the queue has no groups.
	Group string
	// Attempt is the number of the attempt, from 1.
	Attempt int
	// Time is when the attempt had failed, by the queue's clock.
	Time time.Time
	// Error is the text of the error, cut after 512 bytes. The text of a panic
	// is its value. The handler has chosen the text, so it may have secrets.
	Error string
	// Panicked reports that the handler panicked.
	Panicked bool
	// Discarded reports that the worker discarded the item.
	Discarded bool
	// Reason says why, in one word: "permanent" if the error was, or
	// "exhausted" after the last attempt.
	//
	// It is empty if the item runs again.
	Reason string
}

// Any returns f with its item as an any.
func (f Failure[T]) Any() Failure[any] {
	return Failure[any]{f.Item, f.Group, f.Attempt, f.Time, f.Error, f.Panicked, f.Discarded, f.Reason}
}
