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
	// Waiting says what becomes of items that wait for a delay. Default: DropWaiting.
	Waiting WaitingPolicy
	// Limit bounds how many items a [DrainError] names. Default: 100.
	Limit int
}

// faults returns what is impossible in the options.
func (o DrainOptions) faults() (faults []string) {
	if !o.Waiting.Valid() {
		faults = append(faults, fmt.Sprintf("DrainOptions.Waiting is %d: want DropWaiting, RunWaiting or AwaitWaiting", o.Waiting))
	}
	if o.Limit < 0 {
		faults = append(faults, fmt.Sprintf("DrainOptions.Limit is %d: want 0 (100) or more", o.Limit))
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
	// Items are some of them, as many as DrainOptions.Limit allows: first those in
	// processing, the longest first with Options.Ages, then those ready, then those
	// that wait.
	Items []ItemInfo[T]
}

// Error names the numbers, and the items.
func (e *DrainError[T]) Error() string {
	names := make([]T, len(e.Items))
	for i := range e.Items {
		names[i] = e.Items[i].Item
	}
	queue := ""
	if e.Queue != "" {
		queue = "queue " + e.Queue + ": "
	}
	text := fmt.Sprintf("shardq: %sleft undone: %d processing, %d ready, %d waiting: %v",
		queue, e.Processing, e.Ready, e.Waiting, names)
	if more := e.Processing + e.Ready + e.Waiting - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ": " + e.Cause.Error()
}

// Unwrap returns the Cause.
func (e *DrainError[T]) Unwrap() error { return e.Cause }

// Drain ends the queue in good order: later adds are dropped and counted, as after
// ShutDown; what waits for a delay is dealt with as the options say; and Drain waits until
// nothing is ready, in processing, or waiting. Then it returns, with a nil error, and the
// queue is shut down: every Get returns true. Workers have to go on with Get and Done
// meanwhile; a worker must not call it while it owes a Done.
//
// If ctx ends before that, or somebody calls ShutDown, or drops what AwaitWaiting waits for
// by a ShutDownWithDrain, Drain returns a [*DrainError] that says what is left. Drain takes
// nothing back and drops nothing then: workers may go on, another Drain may wait on, or
// ShutDown drop what waits. Somebody should: after a Drain with AwaitWaiting that gave up, Gets
// that find nothing wait, as before it, until another Drain or a ShutDown comes to its end.
//
// It returns the items that it dropped when it began, with an error or without. What workers
// add during a drain, such as an item that failed and is to be tried again, is an add that
// came too late: it is dropped, and counted in Stats.Dropped.
func (q *Queue[T]) Drain(ctx context.Context, options DrainOptions) (dropped []T, err error) {
	options.mustBePossible()
	_ = ctx.Done() // a nil context panics before anything is changed
	return q.drainUntil(ctx, options, q.shards.Released())
}

// drainUntil is Drain that gives up when released is closed.
func (q *Queue[T]) drainUntil(ctx context.Context, options DrainOptions, released <-chan struct{}) (dropped []T, err error) {
	dropped, cause := q.shards.DrainUntil(ctx, options.Waiting, released)
	if cause == nil {
		q.logEnd()
		return dropped, nil
	}
	left := q.drainError(cause, options.Limit)
	if q.log != nil {
		q.log.drainGaveUp(ctx, left.Processing, left.Ready, left.Waiting, cause)
	}
	return dropped, left
}

// drainError looks at what is left.
func (q *Queue[T]) drainError(cause error, limit int) *DrainError[T] {
	if limit <= 0 {
		limit = 100
	}
	look := q.shards.Look(limit)
	stats := look.Stats
	items := slices.Concat(look.Processing, look.Ready, look.Waiting)
	return &DrainError[T]{
		Queue: q.name, Cause: cause,
		Ready: stats.Ready, Processing: stats.Processing, Waiting: stats.Held - stats.Ready - stats.Processing,
		Items: q.withAttempts(items[:min(limit, len(items))]),
	}
}
