package shardqtest

import (
	"fmt"
	"time"

	"github.com/shardq/shardq/worker"
)

// An Attempt is what a [Driver] did with an item: one call of the handler, and
// what followed.
type Attempt[T any] struct {
	// Item is the item.
	Item T
	// Number is the number of the attempt, from 1, as the limiter counts them.
	Number int
	// Priority is the priority with which the item was ready.
	Priority int
	// Time is when the handler was called, on the queue's clock.
	Time time.Time
	// Outcome is what followed.
	Outcome Outcome
	// Err is the handler's error, a [*worker.PanicError], or
	// [worker.ErrGoexit]. For a discarded item it is what OnDiscard received.
	//
	// It is nil if the item succeeded.
	Err error
	// After is the delay after which the item is ready again, if the outcome is
	// Failed or Requeued.
	After time.Duration
}

// An Outcome is what followed an attempt.
type Outcome uint8

const (
	// Succeeded says that the handler returned nil.
	Succeeded Outcome = iota
	// Failed says that the attempt failed, and that the item runs again.
	Failed
	// Requeued says that the handler returned a [worker.RequeueAfter].
	Requeued
	// Discarded says that the item does not run again, although it did not
	// succeed.
	Discarded
	// Interrupted says that the handler ended because its context did: the item
	// was added again, or canceled. See [worker.Options].CancelIfAddedAgain.
	Interrupted
)

var outcomes = [...]string{"succeeded", "failed", "requeued", "discarded", "interrupted"}

// String returns the outcome in lower case.
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// String writes the attempt in one line. It writes the value of a panic, and
// not the stack.
func (a Attempt[T]) String() string {
	text := fmt.Sprintf("%s: attempt %d: %v", written(a.Item), a.Number, a.Outcome)
	if a.Outcome == Failed || a.Outcome == Discarded {
		text += ": " + errorText(a.Err)
	}
	if a.Outcome == Failed || a.Outcome == Requeued {
		text += fmt.Sprintf(": again in %v", a.After)
	}
	return text
}

func errorText(err error) string {
	if panicked, is := err.(*worker.PanicError); is {
		return fmt.Sprintf("panic: %v", panicked.Value)
	}
	return fmt.Sprint(err)
}
