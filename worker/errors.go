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
	Queue string // the name of the source
	Item  T
	Err   error // why it failed, never nil
	// Final reports that the item will not run again, and Reason why. OnError
	// may see false although a shutdown later keeps the item from running.
	Final bool
	// Requeued reports that the item did not fail: a shutdown interrupted its
	// attempt, or had begun before its [RequeueAfter].
	Requeued bool
	// Attempt is the number of the attempt, from 1. For an item that a drain
	// dropped, it is the number of failed attempts.
	Attempt int
	// FirstFailure is when the item first failed since its last success, on the
	// queue's clock. It is zero if the item has not failed, or if the time is
	// unknown, as when a drain drops the item.
	FirstFailure time.Time
	Duration     time.Duration // of the attempt, or the whole batch, in real time
	Reason       Reason
}

// A failure is a [Failure] without its item.
type failure struct {
	queue           string
	err             error
	final, requeued bool
	attempt         int
	firstFailure    time.Time
	duration        time.Duration
	reason          Reason
}

func failureOf[T any](item T, f *failure) Failure[T] {
	return Failure[T]{f.queue, item, f.err, f.final, f.requeued, f.attempt, f.firstFailure, f.duration, f.reason}
}

// RequeueAfter returns an error by which a handler asks for the item again
// after a delay, although it did not fail. The limiter forgets the item's
// failures. For a failure that names its delay, return a [RetryAfter].
// RequeueAfter may be wrapped, and overrules all errors joined with it except a
// [Permanent]. [github.com/shardq/shardq/limiter.Jitter] spreads items that
// would come back together.
func RequeueAfter(d time.Duration) error { return requeue(d) }

type requeue time.Duration

func (r requeue) Error() string { return fmt.Sprintf("worker: requeue after %v", time.Duration(r)) }

// Permanent returns an error by which a handler has the item discarded at once.
// Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

// RetryAfter returns an error by which a handler fails with err, and names the
// least delay of the next attempt, such as the Retry-After of a 429. The longer
// of d and the limiter's delay counts. An add ends the delay, as it ends a backoff.
// RetryAfter(d, nil) is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryAfter{err, d}
}

type retryAfter struct {
	error
	after time.Duration
}

func (r *retryAfter) Unwrap() error { return r.error }

// A PanicError is a panic as an error. [Options].OnError gets it for a handler
// that panicked. [Pool.Run] panics with it if other code panicked.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // as by debug.Stack
	Run   error  // what Run would have returned, if it panics
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

type tooLate struct{ reason, cause error }

func (e *tooLate) Error() string   { return e.reason.Error() + ": " + e.cause.Error() }
func (e *tooLate) Unwrap() []error { return []error{e.reason, e.cause} }

// A LeftoverError is the error of a [Pool.Run] that has left items over.
type LeftoverError[T any] struct {
	Queue string // the name of the source
	left  []Failure[T]
}

// Left returns the items that a shutdown left over, if there is no
// [Options].OnLeftover. It also returns the items whose handlers still run,
// with ReasonAbandoned and the time since the handler began.
func (e *LeftoverError[T]) Left() []Failure[T] { return e.left }

// Error returns a text with the number of items. It names none, because items
// may be private.
func (e *LeftoverError[T]) Error() string {
	return fmt.Sprintf("worker: queue %q: items left over: %d", e.Queue, len(e.left))
}

var errAbandoned = errors.New("worker: the handler still ran when Run returned")

var errDropped = &tooLate{ErrShutDown, errors.New("dropped while it was delayed")}

// RequeueDelay returns the delay of a [RequeueAfter] that err is or wraps, and
// whether a [Pool] requeues an item for err.
func RequeueDelay(err error) (after time.Duration, ok bool) {
	if IsPermanent(err) {
		return 0, false
	}
	delay, ok := errors.AsType[requeue](err)
	return time.Duration(delay), ok
}

// IsPermanent reports whether err is or wraps a [Permanent].
func IsPermanent(err error) bool {
	_, is := errors.AsType[*permanent](err)
	return is
}

// A Reason says why an item will not run again.
type Reason uint8

const (
	ReasonNone      Reason = iota // The item may run again.
	ReasonPermanent               // The handler returned a [Permanent].
	ReasonExhausted               // The last attempt by [Options].MaxAttempts or MaxElapsed failed.
	ReasonShutDown                // A shutdown had begun, or a drain dropped the delayed item.
	ReasonRefused                 // The [Owner] did not accept the item again.
	ReasonAbandoned               // Its handler still runs: see [Options].AbandonAfter.
)

var reasonNames = [...]string{"none", "permanent", "exhausted", "shutdown", "refused", "abandoned"}

// String returns one word, such as "exhausted".
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// FailAll returns the result of a HandleBatch in which each of n items failed
// with err, or succeeded if err is nil. It panics if n is below 0.
func FailAll(n int, err error) []error {
	checkCount("FailAll", n)
	if err == nil {
		return nil
	}
	return FailFrom(n, 0, err)
}

// FailFrom returns the result of a HandleBatch in which the items at the index
// first and above failed with err, and those before succeeded.
func FailFrom(n, first int, err error) []error {
	if first < 0 || first > n {
		panic(fmt.Sprintf("worker: FailFrom was called with first %d: want 0 to n, which is %d", first, n))
	}
	errs := make([]error, n)
	for i := first; i < n; i++ {
		errs[i] = err
	}
	return errs
}

// FailSome returns the result of a HandleBatch in which those of n items failed
// whose indexes are in failed, each with its error. An index below 0, or not
// below n, panics.
func FailSome(n int, failed map[int]error) []error {
	checkCount("FailSome", n)
	if len(failed) == 0 {
		return nil
	}
	errs := make([]error, n)
	for i, err := range failed {
		if i < 0 || i >= n {
			panic(fmt.Sprintf(
				"worker: FailSome was called with the index %d in failed: want 0 or more and below n, which is %d", i, n))
		}
		errs[i] = err
	}
	return errs
}

func checkCount(function string, n int) {
	if n < 0 {
		panic(fmt.Sprintf("worker: %s was called with n %d: want 0 or more", function, n))
	}
}
