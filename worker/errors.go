package worker

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/shardq/shardq/internal/foreach"
)

// A Failure describes a failed or discarded item to the hooks of [Options].
type Failure[T any] struct {
	// Queue is the name of the queue, or of another source.
	Queue string
	// Item is the item.
	Item T
	// Err says why it failed. It is never nil.
	Err error
	// Final reports that the item will not run again, so that OnDiscard is
	// called for it. OnError may see false although a shutdown begins before
	// the next attempt.
	Final bool
	// Requeued reports that the item did not fail. A [RequeueAfter] came too
	// late, because the queue was shutting down.
	Requeued bool
	// Attempt is the number of the attempt, from 1. For an item that a drain
	// dropped while it was delayed, it is the number of failed attempts, and
	// may be 0.
	Attempt int
	// Duration is how long the attempt took, in real time. With HandleBatch it
	// is that of the whole batch. For an item that a drain dropped it is 0.
	Duration time.Duration
	// Reason says why the item will not run again. OnError may see ReasonNone
	// although a shutdown begins before the next attempt.
	Reason Reason
}

// RequeueAfter returns an error by which a handler asks for the item again
// after a delay, although it did not fail. The limiter forgets the item's
// failures, and the item is added as by a queue's AddAfter: if it is delayed
// already, the earlier deadline counts. If d is not positive, it is ready again
// at once.
//
// A wrapped RequeueAfter counts, too. It overrules errors that are joined with
// it, except for a [Permanent]. In a Permanent, it does not count.
func RequeueAfter(d time.Duration) error { return requeue(d) }

type requeue time.Duration

func (r requeue) Error() string { return fmt.Sprintf("worker: requeue after %v", time.Duration(r)) }

// Permanent returns an error by which a handler has the item discarded at once,
// because another attempt would fail as well. It wraps err and has its text. A
// wrapped Permanent counts, too. It overrules all errors that are joined with
// it.
//
// Permanent(nil) is nil: success.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

// A PanicError is a panic as an error. [Options].OnError gets it for a handler
// that panicked. [Pool.Run] panics with it in their caller's
// goroutine if other code panicked in one of its own.
type PanicError struct {
	// Value is the value that the code panicked with.
	Value any
	// Stack is the stack of the goroutine that panicked, as by debug.Stack.
	Stack []byte
}

// Error returns the value and the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the Value if it is an error, or else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// panicError must be called in the deferred function that recovered the value,
// where the stack still has the frames of the panic.
func panicError(value any) *PanicError {
	if passed, is := value.(foreach.Panic); is {
		return &PanicError{Value: passed.Value, Stack: passed.Stack}
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// ErrGoexit is the failure of a handler that called runtime.Goexit.
var ErrGoexit = errors.New("worker: runtime.Goexit was called")

// tooLate is the failure of an item that cannot run again, because its source
// is shut down or for another reason.
type tooLate struct{ reason, cause error }

func (e *tooLate) Error() string   { return e.reason.Error() + ": " + e.cause.Error() }
func (e *tooLate) Unwrap() []error { return []error{e.reason, e.cause} }

// errDropped is the failure of an item that a drain dropped.
var errDropped = &tooLate{ErrShutDown, errors.New("dropped while it was delayed")}
