package stats

import "fmt"

// A Result says how an attempt of a worker ended. Each attempt has one.
//
// If several apply, Discarded is the result, or else Requeued, Panicked,
// TimedOut and Failed, in this order.
type Result uint8

const (
	// Succeeded is the result of a handler that returned nil.
	Succeeded Result = iota
	// Failed is the result of a handler that returned an error, if none of the
	// following applies.
	Failed
	// Panicked is the result of a handler that panicked or called
	// runtime.Goexit, or that returned an error that wraps a panic.
	Panicked
	// TimedOut is the result of a handler that used up the timeout of an
	// attempt, and returned an error that wraps [context.DeadlineExceeded].
	TimedOut
	// Requeued is the result of a handler that asked for the item again after a
	// delay, or whose context ended because its item was added again or
	// canceled.
	Requeued
	// Discarded is the result of an attempt that failed, in any way, and after
	// which the worker discarded the item.
	Discarded

	// Results is the number of results.
	Results = iota
)

var resultNames = [Results]string{"success", "error", "panic", "timeout", "requeue", "discarded"}

// String returns the name that the metrics have for the result: success, error,
// panic, timeout, requeue or discarded.
func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}
