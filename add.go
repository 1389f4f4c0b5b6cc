package shardq

import (
	"context"
	"fmt"
	"time"

	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// Add asks for one run of item, which begins after this call. An idle item
// becomes ready, last in its shard. A ready item keeps its place. An item in
// processing becomes ready at its Done. A delay of the item goes on.
//
// Add never waits, and ignores [Options].Capacity. After a shutdown has begun,
// it drops the item. It panics if the item's dynamic value cannot be compared.
func (q *Queue[T]) Add(item T) { q.set().Add(item) }

// AddAfter adds item, as [Queue.Add] does, at the first tick of the queue's
// clock at which duration has passed: see [Options].Tick. If duration is not
// positive, AddAfter is Add. If item is delayed already, the earlier deadline
// counts. An item may be delayed and ready or in processing at the same time. A
// shutdown drops delayed items.
func (q *Queue[T]) AddAfter(item T, duration time.Duration) { q.set().AddAfter(item, duration) }

// AddOptions say how an item is added. The zero AddOptions add as [Queue.Add]
// does.
type AddOptions struct {
	// After is the delay, as in [Queue.AddAfter].
	After time.Duration
	// At is the moment of the queue's clock at which the item becomes ready.
	// For appointments, use [clock.Wall], whose time goes on while the machine
	// is suspended. With After or RateLimited, the longer delay counts. A
	// moment that has passed is no delay.
	At time.Time
	// RateLimited asks the queue's limiter for a delay and counts a requeue, as
	// [Queue.AddRateLimited] does. With After, the longer delay counts.
	RateLimited bool
	// Policy says which deadline counts if the item is delayed already. If this
	// add has no delay, KeepEarliest makes the item ready and leaves the
	// running delay, and KeepNew makes it ready and cancels the delay. With
	// KeepLatest and KeepOld the item stays delayed.
	Policy DelayPolicy
	// MaxWait limits how long this call and later ones can put the item off:
	// its delay expires at most MaxWait from now. Of several limits the
	// earliest counts. If zero or negative, there is no limit.
	MaxWait time.Duration
	// Priority is the least priority that the item has when it is ready. Items
	// of a higher priority are handed out first, those of one priority in
	// order. A run has the highest priority of all adds that it serves. A ready
	// item whose priority rises moves behind those of its new priority. Across
	// shards, the order is less exact: see docs/reference/semantics.md.
	Priority int
	// NotAgainWithin refuses the add if the item has an open window, which an
	// earlier add opened. Otherwise the add opens a window of this length,
	// which begins now. A refused add is counted in Stats.Deduplicated.
	// [Queue.TryAdd] and [Queue.AddContext] return [ErrNotAgain] for it. Adds
	// without NotAgainWithin ignore windows. [Queue.Cancel] closes the window,
	// and so does a worker that discards the item. For one run in the queue's
	// life, use math.MaxInt64.
	NotAgainWithin time.Duration
}

// A DelayPolicy says which deadline counts, the item's own or the new one.
type DelayPolicy = shard.DelayPolicy

// The policies of [AddOptions].Policy.
const (
	KeepEarliest = shard.KeepEarliest // the earlier deadline, as AddAfter does
	KeepLatest   = shard.KeepLatest   // the later deadline, up to MaxWait: a debounce
	KeepNew      = shard.KeepNew      // the new deadline: the item is rescheduled
	KeepOld      = shard.KeepOld      // the item's own deadline
)

// AddWith adds item as the options say. An unknown policy panics.
func (q *Queue[T]) AddWith(item T, options AddOptions) {
	delay := q.made().delay(&options)
	q.shards.AddWith(item, delay)
}

// TryAdd is like [Queue.AddWith], but honors [Options].Capacity. If the queue
// is full, or callers wait in [Queue.AddContext], it does nothing and returns
// [ErrFull]. An item that the queue holds, in any state, needs no room.
//
// TryAdd also returns [ErrNotAgain] and [ErrRejected], and after a shutdown has
// begun [ErrShutDown]. With RateLimited, the limiter counts a requeue even if
// the item is refused.
func (q *Queue[T]) TryAdd(item T, options AddOptions) error {
	if options == (AddOptions{}) { // copying them costs a seventh of the add
		return q.set().TryAdd(item, shard.Delay{})
	}
	return q.set().TryAdd(item, q.made().delay(&options))
}

// AddContext is like [Queue.TryAdd], but blocks until there is room, in the
// order of the callers. It returns ctx.Err() if ctx ends first, and ErrShutDown
// if the queue is shut down. With either error, the item was not added.
//
// With the context of a handler of this queue it does not wait, because the
// handler's own item takes room. It then adds the item even beyond the
// capacity.
func (q *Queue[T]) AddContext(ctx context.Context, item T, options AddOptions) error {
	if err := ctx.Err(); err != nil {
		return err // before the limiter counts a requeue
	}
	if options == (AddOptions{}) {
		return q.set().AddContext(ctx, item, shard.Delay{})
	}
	return q.set().AddContext(ctx, item, q.made().delay(&options))
}

// AddBatch adds each of the items as [Queue.AddWith] does, and costs less for
// many. It ignores [Options].Capacity. Items that share a shard become ready in
// their order. If an item's dynamic value cannot be compared, AddBatch panics,
// and may have added some of the other items.
func (q *Queue[T]) AddBatch(items []T, options AddOptions) {
	q.set().AddBatch(items, q.made().delay(&options))
}

// delay returns what the options ask of the shards.
func (b *base) delay(o *AddOptions) (d shard.Delay) {
	if !o.Policy.Valid() {
		panic(fmt.Sprintf("shardq: AddOptions.Policy is %d: want KeepEarliest, KeepLatest, KeepNew or KeepOld", o.Policy))
	}
	d = shard.Delay{
		Duration: o.After, Policy: o.Policy, MaxWait: o.MaxWait, Priority: o.Priority,
		Retry: o.RateLimited || o.After != 0, Window: o.NotAgainWithin, Limited: o.RateLimited, Backoff: o.RateLimited,
	}
	if !o.At.IsZero() {
		d.Until, d.Retry = b.core.Moment(o.At), true
	}
	return d
}

// AddRateLimited adds item after the limiter's delay, because its work failed.
// Done is still owed. Call Forget once the work has succeeded or is discarded.
func (q *Queue[T]) AddRateLimited(item T) {
	q.set().AddWith(item, shard.Delay{Retry: true, Limited: true, Backoff: true})
}

func (q *Queue[T]) backoff(item T) time.Duration {
	if q.unfailed.Load() {
		q.unfailed.Store(false)
	}
	if q.base.firsts.Any() && q.limiter.NumRequeues(item) == 0 {
		q.base.firsts.Forget(item) // the limiter has forgotten it by itself
	}
	delay := q.limiter.When(item)
	q.base.core.CountBackoff()
	return delay
}

// Forget makes the limiter forget the item's failures, so that its next failure
// counts as its first. It ends a running backoff: see [Options].KeepBackoff.
// Nothing else changes.
func (q *Queue[T]) Forget(item T) { q.set().Forget(item) }

// forget calls the limiter.
func (q *Queue[T]) forget(item T) {
	if q.base.firsts.Any() {
		q.base.firsts.Forget(item)
	}
	if q.mayHaveFailed(item) {
		q.limiter.Forget(item)
	}
}

// forgetIn is Forget of an item whose processing h names. It does not call Hash.
func (q *Queue[T]) forgetIn(h shard.Handle, item T) {
	defer q.base.core.EndBackoff(h)
	q.forget(item)
}

// NumRequeues returns how often item was requeued since it was last forgotten,
// according to the limiter.
func (q *Queue[T]) NumRequeues(item T) int {
	_ = q.made()
	return q.limiter.NumRequeues(item)
}

// Cancel cancels all adds of item before this call, and reports whether the
// item was ready, dirty or delayed because of them. The item is no longer
// ready, delayed or dirty, its window is closed, and its failures are
// forgotten. A processing goes on, and its Done is owed, but a failed claim
// does not make the item ready again. Cancel also works after a shutdown. If it
// removes the last item, a waiting Drain returns.
func (q *Queue[T]) Cancel(item T) Canceled { return q.set().Cancel(item) }

// Canceled says what a [Queue.Cancel] canceled. Its fields are Ready, Dirty and
// Delayed.
type Canceled = stats.Canceled
