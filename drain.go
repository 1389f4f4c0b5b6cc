package shardq

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shardq/shardq/shard"
)

// DrainOptions say how [Queue.Drain] drains.
type DrainOptions struct {
	// Waiting says what becomes of items that wait for a delay when the drain begins.
	// Default: DropWaiting.
	Waiting WaitingPolicy

	// Retries says whether items in processing may be added again until the drain is
	// over, by whichever method. Their delays run, whatever Waiting says. Default: not
	// in [Queue.Drain] and [Coalescer.Drain], and yes in [WorkerOptions].Drain.
	Retries RetryPolicy
}

// A RetryPolicy says whether a drain takes in adds of items in processing: as a rule
// those that have failed. An item that always fails keeps such a drain going, unless
// there is a bound: see [WorkerOptions].MaxAttempts and DrainTimeout.
type RetryPolicy uint8

const (
	// DefaultRetries refuses them, except in a drain of Workers.
	DefaultRetries RetryPolicy = iota
	// RefuseRetries drops them, as all other adds.
	RefuseRetries
	// TakeRetries takes them in, until another end of the queue begins that does not.
	TakeRetries

	retryPolicies
)

func (o DrainOptions) draining() shard.Draining {
	return shard.Draining{Waiting: o.Waiting, Retries: o.Retries == TakeRetries}
}

// faults returns what is impossible in the options.
func (o DrainOptions) faults() (faults []string) {
	if !o.Waiting.Valid() {
		faults = append(faults, fmt.Sprintf("DrainOptions.Waiting is %d: want DropWaiting, RunWaiting or AwaitWaiting", o.Waiting))
	}
	if o.Retries >= retryPolicies {
		faults = append(faults, fmt.Sprintf("DrainOptions.Retries is %d: want DefaultRetries, RefuseRetries or TakeRetries", o.Retries))
	}
	return faults
}

// mustBePossible panics with the faults of the options, if there are any.
func (o DrainOptions) mustBePossible() {
	if faults := o.faults(); faults != nil {
		panic("shardq: " + strings.Join(faults, "; "))
	}
}

// A WaitingPolicy says what a [Queue.Drain] does with the items that wait for a delay.
type WaitingPolicy = shard.WaitingPolicy

const (
	// DropWaiting drops them; Drain returns them.
	DropWaiting = shard.DropWaiting
	// RunWaiting ends their delays at once: they become ready.
	RunWaiting = shard.RunWaiting
	// AwaitWaiting lets their delays go on, and waits for them, too.
	AwaitWaiting = shard.AwaitWaiting
)

// A DrainError says what was left when a [Queue.Drain] gave up.
type DrainError[T comparable] struct {
	// Queue is the Name of the queue.
	Queue string
	// Cause is the error of the context, or [ErrShutDown] if a ShutDown ended the wait.
	Cause error
	// Ready, Processing and Waiting count the items that are left. One that waits while
	// it is ready or in processing does not count among those that wait.
	Ready, Processing, Waiting int

	left []ItemInfo[T]
	// look looks at what is left.
	look func() []ItemInfo[T]
}

// Left returns the items that were left, each once: first those in processing, the
// longest first with [Options].Ages, then those ready, then those that wait. They are
// still in the queue, and workers may go on with them. The slice is the caller's to
// read, and the same at each call.
func (e *DrainError[T]) Left() []ItemInfo[T] { return e.left }

// Refresh returns the error as it is now: with what is left of the queue by the time of
// the call. [Workers.Run] calls it when the last worker has left.
func (e *DrainError[T]) Refresh() error { return e.refresh() }

func (e *DrainError[T]) refresh() *DrainError[T] { return newDrainError(e.Queue, e.Cause, e.look) }

// Error names the numbers, and no items: they may be private, and many.
func (e *DrainError[T]) Error() string {
	queue := ""
	if e.Queue != "" {
		queue = "queue " + e.Queue + ": "
	}
	return fmt.Sprintf("shardq: %sleft undone: %d processing, %d ready, %d waiting: %v",
		queue, e.Processing, e.Ready, e.Waiting, e.Cause)
}

// Unwrap returns the Cause.
func (e *DrainError[T]) Unwrap() error { return e.Cause }

// Drain ends the queue in good order: later adds are dropped and counted, as after
// ShutDown; what waits for a delay is dealt with as the options say; and Drain waits until
// nothing is ready, in processing, or waiting. Then it returns, with a nil error, and the
// queue is shut down: every Get returns true. Workers have to go on with Get and Done
// meanwhile; a worker must not call it while it owes a Done.
//
// What workers add during a drain, such as an item that failed, is dropped and counted in
// Stats.Dropped, too, unless DrainOptions.Retries takes it in: then items in processing
// can be added, as long as their Done is owed, and Drain waits for them as well.
//
// If ctx ends before that, or somebody calls ShutDown, or drops what Drain waits for
// by a ShutDownWithDrain, Drain returns a [*DrainError] that has what is left. Drain takes
// nothing back then: workers may go on, another Drain may wait on, or
// ShutDown drop what waits. Somebody should: after a Drain that gave up while it let
// delays go on, Gets that find nothing wait, as before it, until another Drain or a
// ShutDown comes to its end.
//
// It returns the items that it dropped when it began, and those that it waited for and a
// shutdown dropped, with an error or without.
func (q *Queue[T]) Drain(ctx context.Context, options DrainOptions) (dropped []T, err error) {
	options.mustBePossible()
	_ = ctx.Done() // a nil context panics before anything is changed
	return q.drainUntil(ctx, options, q.shards.Released(), q.drained)
}

// drainUntil is Drain, whose end finish logs. If user code panics, the next Drain returns
// what this one has dropped.
func (q *Queue[T]) drainUntil(ctx context.Context, options DrainOptions, released <-chan struct{},
	finish func(ctx context.Context, cause error) error) (dropped []T, err error) {
	returned := false
	defer func() {
		if !returned {
			q.shards.ReturnLater(dropped)
		}
	}()
	err = finish(ctx, q.shards.DrainUntil(ctx, options.draining(), released, &dropped))
	returned = true
	return dropped, err
}

// drained logs the end of a drain, and returns its error if it gave up.
func (q *Queue[T]) drained(ctx context.Context, cause error) error {
	if cause != nil {
		return q.gaveUp(ctx, cause)
	}
	q.logEnd()
	return nil
}

// gaveUp looks at what is left, and logs how much that is.
func (q *Queue[T]) gaveUp(ctx context.Context, cause error) *DrainError[T] {
	e := newDrainError(q.name, cause, func() []ItemInfo[T] { return q.withAttempts(q.shards.Left()) })
	if q.log != nil {
		q.log.drainGaveUp(ctx, e.Processing, e.Ready, e.Waiting, cause)
	}
	return e
}

// newDrainError counts the rows, and puts them in order. It moves each once: they may
// be a million.
func newDrainError[T comparable](queue string, cause error, look func() []ItemInfo[T]) *DrainError[T] {
	rows := look()
	var counts [Waiting + 1]int
	for i := range rows {
		counts[rows[i].State]++
	}
	e := &DrainError[T]{
		Queue: queue, Cause: cause,
		Processing: counts[Processing], Ready: counts[Ready], Waiting: counts[Waiting],
		left: make([]ItemInfo[T], len(rows)), look: look,
	}
	next := [Waiting + 1]int{Ready: e.Processing, Waiting: e.Processing + e.Ready}
	for _, row := range rows {
		e.left[next[row.State]] = row
		next[row.State]++
	}
	slices.SortStableFunc(e.left[:e.Processing], func(a, b ItemInfo[T]) int { return a.Since.Compare(b.Since) })
	return e
}

// WaitIdle returns nil once there was a moment during the call at which the queue held
// nothing: nothing was ready, in processing, or waiting for a delay. It returns ctx.Err()
// if ctx ends before that. Adds may go on meanwhile, so the queue may hold something
// again when WaitIdle returns. It works in the same way after a shutdown.
//
// An item is never overlooked: not while it goes from one state to another, nor where
// a handler adds an item before it says the Done of another one.
func (q *Queue[T]) WaitIdle(ctx context.Context) error { return q.shards.WaitIdle(ctx, nil) }
