package shardq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// DrainOptions say how [Queue.Drain] drains. The zero DrainOptions drops
// delayed items and refuses retries.
type DrainOptions struct {
	// Delayed says what happens to the items that are delayed when the drain
	// begins. Defaults to [DropDelayed].
	Delayed DelayedPolicy

	// Retries says whether items in processing may be added again until the
	// drain is over. Their delays run, whatever Delayed says. Defaults to
	// [RefuseRetries] in Drain, and to [AcceptRetries] in [Queue.DrainWith].
	Retries RetryPolicy
}

// A RetryPolicy says whether a drain accepts adds of items in processing. An
// item that always fails keeps such a drain going unless there is a limit.
type RetryPolicy uint8

const (
	// DefaultRetries is RefuseRetries in [Queue.Drain] and AcceptRetries in
	// [Queue.DrainWith].
	DefaultRetries RetryPolicy = iota
	// RefuseRetries drops them, like all other adds.
	RefuseRetries
	// AcceptRetries accepts them until a ShutDown, or a Drain that refuses
	// retries.
	AcceptRetries

	retryPolicies
)

// A DelayedPolicy says what a [Queue.Drain] does with delayed items.
type DelayedPolicy = shard.DelayedPolicy

// The policies: [shard.DelayedPolicy] describes them.
const (
	DropDelayed  = shard.DropDelayed
	RunDelayed   = shard.RunDelayed
	AwaitDelayed = shard.AwaitDelayed
)

func (o DrainOptions) draining() shard.Draining {
	return shard.Draining{Delayed: o.Delayed, Retries: o.Retries == AcceptRetries}
}

// Validate returns an error that names every fault of the options, or nil.
func (o DrainOptions) Validate() error {
	var faults []string
	if !o.Delayed.Valid() {
		faults = append(faults, fmt.Sprintf("DrainOptions.Delayed is %d: want DropDelayed, RunDelayed or AwaitDelayed", o.Delayed))
	}
	if o.Retries >= retryPolicies {
		faults = append(faults, fmt.Sprintf("DrainOptions.Retries is %d: want DefaultRetries, RefuseRetries or AcceptRetries", o.Retries))
	}
	if faults == nil {
		return nil
	}
	return errors.New("shardq: " + strings.Join(faults, "; "))
}

func (o DrainOptions) mustBeValid() {
	if err := o.Validate(); err != nil {
		panic(err.Error())
	}
}

// Drain shuts the queue down in good order: later adds are dropped and counted,
// delayed items are treated as the options say, and Drain blocks until nothing
// is ready, in processing or delayed. Then it returns nil, and every Get returns
// true. Workers must go on meanwhile. A worker that owes a Done must not call
// Drain. With [AcceptRetries], an item in processing can be added as long as
// its Done is owed, and Drain waits for it as well.
//
// Drain returns a [*DrainError] that lists what is left if ctx ends first, or
// if another call is ShutDown. It reverts nothing: workers may go on, another
// Drain may wait on, and ShutDown may drop what is delayed. After an
// [AwaitDelayed] drain that ended early, call one of these, because until then
// Gets that find nothing block.
//
// Drain returns the items that were dropped, with an error or without. A nil
// ctx and an unknown policy panic before anything is changed.
func (q *Queue[T]) Drain(ctx context.Context, options DrainOptions) (dropped []T, err error) {
	options.mustBeValid()
	_ = ctx.Done() // a nil context panics before anything is changed
	return q.drainUntil(ctx, options.draining(), q.set().Released(), q.drained)
}

// DrainWith returns [Queue.Drain] with these options, for worker.Options.Drain.
// There, Retries defaults to [AcceptRetries]. An unknown policy panics.
func (q *Queue[T]) DrainWith(options DrainOptions) func(context.Context) (dropped []T, err error) {
	q.mustBeMade()
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

// drained logs the end of a drain, and returns its error if it ended early.
func (q *Queue[T]) drained(ctx context.Context, cause error) error {
	if cause != nil {
		return q.drainEndedEarly(ctx, cause)
	}
	q.logShutDown()
	return nil
}

// drainEndedEarly lists what is left, and logs how much that is.
func (q *Queue[T]) drainEndedEarly(ctx context.Context, cause error) error {
	e := newDrainError(q.name, cause, func() []stats.Item[T] { return q.countAttempts(q.shards.Left()) })
	if q.log != nil {
		q.log.drainEndedEarly(ctx, e.Processing, e.Ready, e.Delayed, cause)
	}
	return e
}

// A DrainError lists what was left when a [Queue.Drain] ended early.
type DrainError[T comparable] struct {
	// Queue is the name of the queue.
	Queue string
	// Cause is the error of the context, or [ErrShutDown] if a ShutDown ended
	// the drain.
	Cause error
	// Ready, Processing and Delayed count the items that are left. An item that
	// is delayed while it is ready or in processing does not count as Delayed.
	Ready, Processing, Delayed int

	left []stats.Item[T]
	list func() []stats.Item[T]
}

// newDrainError counts and orders the rows that list returns. It moves each row
// once, because they may be a million.
func newDrainError[T comparable](queue string, cause error, list func() []stats.Item[T]) *DrainError[T] {
	rows := list()
	var counts [stats.Delayed + 1]int
	for i := range rows {
		counts[rows[i].State]++
	}
	e := &DrainError[T]{
		Queue: queue, Cause: cause,
		Processing: counts[stats.Processing], Ready: counts[stats.Ready], Delayed: counts[stats.Delayed],
		left: make([]stats.Item[T], len(rows)), list: list,
	}
	next := [stats.Delayed + 1]int{stats.Ready: e.Processing, stats.Delayed: e.Processing + e.Ready}
	for _, row := range rows {
		e.left[next[row.State]] = row
		next[row.State]++
	}
	slices.SortStableFunc(e.left[:e.Processing], func(a, b stats.Item[T]) int { return a.Since.Compare(b.Since) })
	return e
}

// Left returns the items that were left, each once: first those in processing,
// with [Options].Ages the longest first, then the ready ones, then the delayed
// ones. They are still in the queue. Each call returns the same slice.
func (e *DrainError[T]) Left() []stats.Item[T] { return e.left }

// Refresh returns the error with what is left of the queue now. A worker.Pool
// calls it when its last worker has left.
func (e *DrainError[T]) Refresh() error { return e.Refreshed() }

// Refreshed is [DrainError.Refresh] that returns a DrainError.
func (e *DrainError[T]) Refreshed() *DrainError[T] { return newDrainError(e.Queue, e.Cause, e.list) }

// Error returns the counts. It names no items, which may be private, and many.
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

// ShutDown shuts the queue down: delayed items and later adds are dropped and
// counted, and every Get that finds nothing ready returns true. Ready items are
// still handed out, and dirty items still run once more. Paused items stay
// ready, and Get returns true beside them.
//
// It does not wait for workers, nor for [Options].OnStuck. When it returns, the
// timer is stopped. For that it waits for a call of the queue's clock that is
// in progress, so a [clock.Clock] must not call ShutDown from its own methods.
//
// ShutDown may be called again and concurrently. Each call ends the wait of
// every ShutDownWithDrain and Drain.
func (q *Queue[T]) ShutDown() {
	q.set().ShutDown()
	q.logShutDown()
}

// ShutDownWithDrain is ShutDown that blocks until no item is ready and none is
// in processing. (client-go's waits only for those in processing.) Workers must
// go on meanwhile. A worker that owes a Done must not call it. A later ShutDown
// ends the wait.
func (q *Queue[T]) ShutDownWithDrain() {
	q.set().ShutDownWithDrain()
	q.logShutDown()
}

// ShuttingDown reports whether a shutdown has begun. It never becomes false
// again.
func (q *Queue[T]) ShuttingDown() bool { return q.set().ShuttingDown() }

// logShutDown logs the first end of the queue.
func (q *Queue[T]) logShutDown() {
	if q.log != nil && q.endLogged.CompareAndSwap(false, true) {
		q.log.shutDown(q.shards.Stats())
	}
}

// WaitIdle blocks until the queue holds nothing: nothing is ready, in
// processing or delayed. It returns nil once there was such a moment during the
// call, or ctx.Err() if ctx ends first. Adds may go on meanwhile. It misses no
// item that changes its state, and works after a shutdown as well.
func (q *Queue[T]) WaitIdle(ctx context.Context) error { return q.set().WaitIdle(ctx, nil) }
