package shardq

import (
	"context"
	"errors"
)

// Run works the coalescer off with so many goroutines, as [Queue.Run] does a queue: until ctx
// ends or the coalescer is shut down and nothing is ready. handle is called with a key and its
// value, by one goroutine at a time for any one key. What it returns decides:
//
//   - nil: the value is dealt with, as by [Coalescer.Done].
//   - [RequeueAfter]: the value goes back, before what was put for the key since, and the
//     key is ready again after that delay, with what was put by then. No failure.
//   - [Permanent]: the value is given up.
//   - any other error, a panic, or a runtime.Goexit: the value goes back, as by
//     [Coalescer.Retry].
//
// What goes back is the value that handle was given. If that is, or has, a pointer, a slice
// or a map, handle may have changed what it refers to: then the next attempt, or a Merge, finds
// it so.
//
// It is [NewCoalescerWorkers] with Workers and Handle alone. So what fails after a shutdown
// began is dropped, and nobody is told of what is given up: set an OnGiveUp there to keep it.
// An error says that workers is less than 1, or that handle is nil. It allocates nothing per
// key.
func (c *Coalescer[K, V]) Run(ctx context.Context, workers int, handle func(ctx context.Context, key K, value V) error) error {
	options := WorkerOptions[Pending[K, V]]{Workers: workers}
	if handle != nil {
		options.Handle = func(ctx context.Context, taken Pending[K, V]) error {
			return handle(ctx, taken.Key, taken.Value)
		}
	}
	w, err := NewCoalescerWorkers(c, options)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// NewCoalescerWorkers returns workers for a coalescer, or an error that lists every fault of the
// options. It starts nothing. The items of the options are keys with their values: what is
// said there of an item's Done and Forget is [Coalescer.Done] here, and what is added again
// goes back, as said at [Coalescer.Run].
//
// OnGiveUp is told of each value that will not be tried again: what failed by [Permanent], or
// for the MaxAttempts-th time; what failed, or was to be requeued, once a shutdown had begun;
// and what waited when Drain dropped it. Its value is in nobody else's hands then, and in
// nobody's afterwards, which makes the hook the place to keep it: for every value that was
// put, a handler has returned nil, or OnGiveUp was told, or it is pending still, and one of
// these alone. Attempts are those of the key: a value that was merged since into one that
// failed shares its count.
//
// Run returns the error of [Coalescer.Drain], a *CoalescerDrainError[K, V], whose Left
// takes out what is pending when the last worker has left. If it is Merge or Weight that
// panics in a worker, that is as a panic of the limiter: all leave, and Run panics. No value is
// lost by that, but one that goes back and cannot be weighed counts as 1 until it is merged or
// taken.
//
// The coalescer may have several Workers, beside others who call Take.
func NewCoalescerWorkers[K comparable, V any](c *Coalescer[K, V], options WorkerOptions[Pending[K, V]]) (*Workers[Pending[K, V]], error) {
	var fault error
	if c == nil {
		fault = errors.New("shardq: NewCoalescerWorkers was called without a coalescer")
	}
	return newWorkers(coalescerSource[K, V]{c}, options, fault)
}
