package shardq

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// A Failure is what the hooks of [WorkerOptions] are told.
type Failure[T any] struct {
	// Queue is the Name of the queue.
	Queue string
	// Item is what failed.
	Item T
	// Err says why. It is never nil.
	Err error
	// Final: the item will not be tried again, so that OnGiveUp is told of it. OnError does
	// not know yet of a shutdown that is about to come between.
	Final bool
	// Requeued: nothing has failed; a [RequeueAfter] came too late, for the queue was
	// shutting down.
	Requeued bool
	// Attempt is the number of the attempt, from 1. For an item that a drain dropped while
	// it waited, it is how many attempts had failed by then, and may be 0.
	Attempt int
}

// RequeueAfter is what a handler returns to have its item again after a delay, without
// that being a failure: the item's history in the limiter is forgotten, and the item is
// added as by [Queue.AddAfter]. If it waits already, the earlier deadline counts. With a
// duration of 0 or less it comes again at once. A wrapped RequeueAfter counts, too, and
// overrules errors that are joined with it.
func RequeueAfter(d time.Duration) error { return requeue(d) }

type requeue time.Duration

func (r requeue) Error() string { return fmt.Sprintf("shardq: requeue after %v", time.Duration(r)) }

// Permanent is what a handler returns if to try again would be of no use: the item is
// given up at once. The error that it returns has the text of err and wraps it. A wrapped
// Permanent counts, too. Permanent(nil) is nil: success.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

// A PanicError is a panic, as an error: of a handler, as [WorkerOptions].OnError is told of
// it, or of other code that [Workers.Run] or [Parallelize] ran in another goroutine, with
// which they panic in their caller's.
type PanicError struct {
	// Value is what the code panicked with.
	Value any
	// Stack is the stack of the goroutine that panicked, as debug.Stack has it.
	Stack []byte
}

// Error names the value, and has the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the Value if it is an error, and otherwise nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// panicError is to be called in the deferred function that recovered the value: the stack
// still has the frames of the panic then.
func panicError(value any) *PanicError {
	if passed, is := value.(passedOn); is {
		return passed.fault
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// passedOn is what our own code panics with to pass a panic on that it has recovered.
type passedOn struct{ fault *PanicError }

// ErrGoexit is the failure of a handler, or of a piece of [Parallelize], that called
// runtime.Goexit.
var ErrGoexit = errors.New("shardq: runtime.Goexit was called")

// tooLate is the failure of an item that cannot come again, because its source is shut
// down, or for another reason.
type tooLate struct{ reason, cause error }

func (e *tooLate) Error() string   { return e.reason.Error() + ": " + e.cause.Error() }
func (e *tooLate) Unwrap() []error { return []error{e.reason, e.cause} }

// errWaited is the failure of an item that a drain dropped.
var errWaited = &tooLate{ErrShutDown, errors.New("dropped while it waited for its delay")}
