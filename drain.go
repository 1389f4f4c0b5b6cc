package shardq

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// DrainOptions say how [Queue.Drain] drains. The zero DrainOptions drops
// delayed items and refuses retries.
type DrainOptions struct {
	// Delayed says what happens to the items that are delayed when the drain
	// begins.
	Delayed DelayedPolicy
	// Retries says whether items in processing may be added again until the
	// drain is over. Their delays run, whatever Delayed says.
	Retries RetryPolicy
}

// A RetryPolicy says whether a drain accepts adds of items in processing, by
// any method, such as AddRateLimited or a claim's Retry. A drain drops all
// other adds. With AcceptRetries, an item that always fails keeps a drain
// going, unless its attempts are limited.
type RetryPolicy uint8

const (
	// DefaultRetries is RefuseRetries in [Queue.Drain] and AcceptRetries in
	// [Queue.DrainWith].
	DefaultRetries RetryPolicy = iota
	RefuseRetries              // drops such adds, like all others
	AcceptRetries              // until a ShutDown, or a Drain that refuses retries

	retryPolicies
)

// A DelayedPolicy says what a [Queue.Drain] does with delayed items.
type DelayedPolicy = shard.DelayedPolicy

// The policies of [DrainOptions].Delayed.
const (
	DropDelayed  = shard.DropDelayed  // drops the delayed items, and returns them
	RunDelayed   = shard.RunDelayed   // makes them ready at once
	AwaitDelayed = shard.AwaitDelayed // waits until their delays have expired
)

func (o DrainOptions) draining() shard.Draining {
	return shard.Draining{Delayed: o.Delayed, Retries: o.Retries == AcceptRetries}
}

// Validate returns an error that names every fault of the options, or nil.
func (o DrainOptions) Validate() error {
	const wantDelayed, wantRetries = "want DropDelayed, RunDelayed or AwaitDelayed",
		"want DefaultRetries, RefuseRetries or AcceptRetries"
	faults := ""
	if !o.Delayed.Valid() {
		faults = fmt.Sprintf("; DrainOptions.Delayed is %d: %s", o.Delayed, wantDelayed)
	}
	if o.Retries >= retryPolicies {
		faults += fmt.Sprintf("; DrainOptions.Retries is %d: %s", o.Retries, wantRetries)
	}
	if faults == "" {
		return nil
	}
	return errors.New("shardq: " + faults[len("; "):])
}

func (o DrainOptions) mustBeValid() {
	if err := o.Validate(); err != nil {
		panic(err.Error())
	}
}

// Drain shuts the queue down in good order: it drops later adds, treats delayed
// items as the options say, and blocks until nothing is ready, in processing or
// delayed. Workers must go on meanwhile, and a worker that owes a Done must not
// call Drain. Drain returns the items that it dropped, with an error or
// without.
//
// Drain returns a [*DrainError], which lists the items left, if ctx ends first,
// if ShutDown is called, or if nothing can be handed out before the deadline of
// ctx. After that error, call Drain again, or ShutDown: until you do, Gets that
// find nothing block.
func (q *Queue[T]) Drain(ctx context.Context, options DrainOptions) (dropped []T, err error) {
	options.mustBeValid()
	_ = ctx.Done() // a nil context panics before anything is changed
	return q.drainUntil(ctx, options.draining(), q.made().core.Released(), q.drained)
}

// DrainWith returns a function that calls [Queue.Drain] with these options, for
// worker.Options.Drain. Retries defaults to [AcceptRetries]. An unknown policy
// panics.
func (q *Queue[T]) DrainWith(options DrainOptions) func(context.Context) (dropped []T, err error) {
	_ = q.made()
	options.mustBeValid()
	if options.Retries == DefaultRetries {
		options.Retries = AcceptRetries
	}
	return func(ctx context.Context) ([]T, error) { return q.Drain(ctx, options) }
}

// drainUntil is Drain, except that finish logs its end. If user code panics,
// the next Drain returns what this one has dropped.
func (q *Queue[T]) drainUntil(ctx context.Context, how shard.Draining, released <-chan struct{},
	finish func(ctx context.Context, cause error) error) (dropped []T, err error) {
	returned := false
	defer func() {
		if !returned {
			q.shards.ReturnLater(dropped)
		}
	}()
	err = finish(ctx, q.shards.DrainUntil(ctx, how, released, &dropped))
	returned = true
	return dropped, err
}

func (q *Queue[T]) drained(ctx context.Context, cause error) error {
	if cause != nil {
		return q.drainEndedEarly(ctx, cause)
	}
	q.base.logShutDown()
	return nil
}

func (q *Queue[T]) drainEndedEarly(ctx context.Context, cause error) error {
	e := newDrainError[T](q.base.name, cause, q.base.left)
	q.base.logDrainEndedEarly(ctx, e.Processing, e.Ready, e.Delayed, cause)
	return e
}

// A DrainError lists what was left when a [Queue.Drain] ended early.
type DrainError[T comparable] struct {
	Queue string // the name of the queue
	// Cause says why the drain ended early: the context's error, [ErrShutDown]
	// after a ShutDown, or an error that wraps context.DeadlineExceeded if
	// nothing could be handed out before the deadline.
	Cause error
	// Ready, Processing and Delayed count the items that are left. An item that
	// is delayed while it is ready or in processing does not count as Delayed.
	Ready, Processing, Delayed int

	left []stats.Item[T]
	list func() []stats.Item[any]
}

func newDrainError[T comparable](queue string, cause error, list func() []stats.Item[any]) *DrainError[T] {
	left, counts := inOrder(list())
	return &DrainError[T]{
		Queue: queue, Cause: cause,
		Processing: counts[stats.Processing], Ready: counts[stats.Ready], Delayed: counts[stats.Delayed],
		left: typedRows[T](left), list: list,
	}
}

// inOrder moves each row once, because they may be a million.
func inOrder(rows []stats.Item[any]) (left []stats.Item[any], counts [stats.Delayed + 1]int) {
	for i := range rows {
		counts[rows[i].State]++
	}
	left = make([]stats.Item[any], len(rows))
	processing := counts[stats.Processing]
	next := [stats.Delayed + 1]int{stats.Ready: processing, stats.Delayed: processing + counts[stats.Ready]}
	for _, row := range rows {
		left[next[row.State]] = row
		next[row.State]++
	}
	sort.SliceStable(left[:processing], func(i, j int) bool { return left[i].Since.Before(left[j].Since) })
	return left, counts
}

// Left returns the items that were left, each once: those in processing, then the
// ready, then the delayed ones. With [Options].Ages, those longest in processing
// come first. All are still in the queue.
func (e *DrainError[T]) Left() []stats.Item[T] { return e.left }

// Refresh returns the error with the items that are left now.
func (e *DrainError[T]) Refresh() error { return newDrainError[T](e.Queue, e.Cause, e.list) }

// Error returns a text with the counts. It names no items, because these may be
// private, and many.
func (e *DrainError[T]) Error() string {
	queue := ""
	if e.Queue != "" {
		queue = "queue " + e.Queue + ": "
	}
	return fmt.Sprintf("shardq: %sleft undone: %d processing, %d ready, %d delayed: %v",
		queue, e.Processing, e.Ready, e.Delayed, e.Cause)
}

// Unwrap returns the Cause.
func (e *DrainError[T]) Unwrap() error { return e.Cause }

// ShutDown shuts the queue down: it drops delayed items and later adds, and
// every Get that finds nothing returns true. Ready items are still handed out,
// unless they are paused, and dirty items still run once more. ShutDown does
// not wait for workers. It may be called again: each call ends the wait of
// every Drain. The methods of the queue's [clock.Clock] must not call ShutDown.
func (q *Queue[T]) ShutDown() {
	q.made().core.ShutDown()
	q.base.logShutDown()
}

// ShutDownWithDrain is like ShutDown, but blocks until no item is ready and
// none is in processing. (client-go's waits only for those in processing.)
// Workers must go on meanwhile, and a worker that owes a Done must not call it.
func (q *Queue[T]) ShutDownWithDrain() {
	q.made().core.ShutDownWithDrain()
	q.base.logShutDown()
}

// ShuttingDown reports whether a shutdown has begun.
func (q *Queue[T]) ShuttingDown() bool { return q.made().core.ShuttingDown() }

func (b *base) logDrainEndedEarly(ctx context.Context, processing, ready, delayed int, cause error) {
	if b.log != nil {
		b.log.drainEndedEarly(ctx, processing, ready, delayed, cause)
	}
}

func (b *base) logShutDown() {
	if b.log != nil && b.endLogged.CompareAndSwap(false, true) {
		b.log.shutDown(b.core.Stats())
	}
}

// WaitIdle blocks until nothing is ready, in processing or delayed. It returns
// nil once there has been such a moment during the call, or ctx.Err() if ctx
// ends first. Adds may go on meanwhile.
func (q *Queue[T]) WaitIdle(ctx context.Context) error { return q.made().core.WaitIdle(ctx, nil) }
