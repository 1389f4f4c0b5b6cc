package shardq

import (
	"context"
	"fmt"
	"time"

	"github.com/shardq/shardq/shard"
)

// AddAfter adds item, as [Queue.Add] does, once duration has passed on the
// queue's clock. It does not block.
//
// The delay expires at the first tick at or after its deadline, never before:
// see [Options].Tick. The delays of one shard expire in the order of their
// ticks, whatever the order of the calls. If duration is not positive, AddAfter
// is Add. There is no greatest duration.
//
// If item is delayed already, the earlier deadline counts, and adds it once. An
// item that is ready or in processing may be delayed at the same time.
//
// After a shutdown has begun, the item is dropped and counted in Stats.Dropped.
// The shutdown itself drops delayed items. An item that is not equal to itself
// is rejected and counted in Stats.Rejected.
//
// The cost does not grow with the number of delayed items. AddAfter reads the
// clock, and sets the clock's timer if the deadline is earlier than all others.
func (q *Queue[T]) AddAfter(item T, duration time.Duration) { q.shards.AddAfter(item, duration) }

// AddOptions say how [Queue.AddWith], [Queue.AddBatchWith], [Queue.TryAddWith]
// and [Queue.AddContextWith] add an item.
type AddOptions struct {
	// After is the delay, as in [Queue.AddAfter].
	After time.Duration
	// RateLimited asks the queue's limiter for a delay and counts a requeue, as
	// [Queue.AddRateLimited] does. With After, the longer delay counts.
	RateLimited bool
	// Policy says which deadline counts if the item is delayed already. An item
	// that is not delayed gets the new deadline.
	//
	// If neither After nor RateLimited asks for a delay, Policy says what
	// happens to the delay that is running. With KeepEarliest the item becomes
	// ready, and [Options].CancelDelayOnAdd decides about the delay, as in Add.
	// With KeepNew the item becomes ready, and the delay is canceled. With
	// KeepLatest and KeepOld the item stays delayed.
	Policy DelayPolicy
	// MaxWait limits how long this delay of the item can be put off, also by
	// later calls: it expires at most MaxWait from now. Of several limits the
	// earliest counts. An add without a delay ignores MaxWait under
	// KeepEarliest, which leaves the running delay alone.
	//
	// If zero or negative, there is no limit.
	MaxWait time.Duration
	// Priority is the least priority that the item has when it is ready. Items
	// of a higher priority are handed out first, those of one priority in the
	// order in which they became ready. Adds that name no priority, such as
	// [Queue.Add], request 0.
	//
	// The highest priority of all adds that a run serves counts. A ready item
	// whose priority rises moves to the end of that priority. Every run starts
	// over: the adds that an item gets while it is in processing set the
	// priority of its next run. When a delay expires, the item has the highest
	// priority that was requested with it.
	//
	// The order is exact within a shard. Across shards, a Get prefers the shard
	// with the highest priority: see docs/reference/semantics.md. The number of
	// priorities in use matters little.
	Priority int
	// NotAgainWithin refuses the add if another add opened a window for the
	// item that is still open. An add that is not refused opens a window of
	// this length, which begins now, whatever becomes of the run: it stays open
	// while the item is delayed, runs, fails, or is done. A refused add changes
	// nothing, also not the priority, and is counted in Stats.Deduplicated.
	// [Queue.TryAddWith] and [Queue.AddContextWith] return [ErrNotAgain] for
	// it. Of concurrent adds, one opens the window.
	//
	// Adds without NotAgainWithin ignore windows. [Queue.Cancel] closes the
	// item's window. Once a shutdown has begun there are none. An open window
	// costs about as much as a delay, but the item is not held because of it,
	// and needs no capacity. Windows end on ticks, like delays.
	//
	// If zero or negative, the add ignores windows and opens none.
	NotAgainWithin time.Duration
}

// A DelayPolicy says which of two deadlines counts: that of an item that is
// delayed already, or the new one.
type DelayPolicy uint8

const (
	// KeepEarliest keeps the earlier deadline, as AddAfter does.
	KeepEarliest DelayPolicy = iota
	// KeepLatest keeps the later deadline, so the item becomes ready when no
	// call has added it for a while (debounce). [AddOptions].MaxWait limits
	// that time.
	KeepLatest
	// KeepNew keeps the new deadline: the item is rescheduled.
	KeepNew
	// KeepOld keeps the old deadline, and drops the new one.
	KeepOld
)

// AddWith adds item as the options say. With the zero AddOptions it is
// [Queue.Add]. An unknown policy panics.
func (q *Queue[T]) AddWith(item T, options AddOptions) {
	if delay, ok := q.delayOf(item, options); ok {
		q.shards.AddWith(item, delay)
	}
}

// TryAddWith is [Queue.AddWith] that honors [Options].Capacity, as
// [Queue.TryAdd] does, and with the same errors. An item with a delay needs
// room from now on. It returns [ErrNotAgain], and does nothing, if the options
// have NotAgainWithin and the item was added within its window.
//
// With RateLimited, the limiter counts a requeue also of an item that is then
// refused.
func (q *Queue[T]) TryAddWith(item T, options AddOptions) error {
	delay, ok := q.delayOf(item, options)
	if !ok {
		return ErrRejected
	}
	return q.shards.TryAddWith(item, delay)
}

// AddContextWith is [Queue.TryAddWith] that blocks until there is room, as
// [Queue.AddContext] does, and with the same errors. The delay, MaxWait and the
// window begin when there is room.
func (q *Queue[T]) AddContextWith(ctx context.Context, item T, options AddOptions) error {
	if err := ctx.Err(); err != nil {
		return err // before the limiter counts a requeue
	}
	delay, ok := q.delayOf(item, options)
	if !ok {
		return ErrRejected
	}
	return q.shards.AddContextWith(ctx, item, delay)
}

// delayOf returns what the options ask of the shards for an item. It asks the
// limiter, unless the item is rejected. It panics if the policy is unknown.
func (q *Queue[T]) delayOf(item T, o AddOptions) (d shard.Delay, ok bool) {
	d = o.delay()
	if !o.RateLimited {
		return d, true
	}
	if q.shards.Reject(item) {
		return d, false // before the limiter keeps a history of it
	}
	d.Duration = max(d.Duration, q.backoff(item))
	return d, true
}

// delay returns the options without the limiter's delay.
func (o AddOptions) delay() shard.Delay {
	policy := shard.Policy(o.Policy)
	if !policy.Valid() {
		panic(fmt.Sprintf("shardq: AddOptions.Policy is %d: want KeepEarliest, KeepLatest, KeepNew or KeepOld", o.Policy))
	}
	return shard.Delay{
		Duration: o.After, Policy: policy, MaxWait: o.MaxWait, Priority: o.Priority,
		Retry: o.RateLimited || o.After != 0, Window: o.NotAgainWithin,
	}
}

// AddRateLimited adds item after the limiter's delay: it is AddAfter(item,
// limiter.When(item)), and counts as a requeue of the item. It is for work that
// failed. Done is still owed, before or after. Call Forget once the work has
// succeeded or is discarded.
//
// An item that is not equal to itself is rejected before the limiter is asked.
// After a shutdown the limiter is still asked, and the item is dropped.
func (q *Queue[T]) AddRateLimited(item T) {
	if q.shards.Reject(item) {
		return // before the limiter keeps a history of it
	}
	q.AddAfter(item, q.backoff(item))
}

// backoff asks the limiter for a delay.
func (q *Queue[T]) backoff(item T) time.Duration {
	if q.unfailed.Load() {
		q.unfailed.Store(false)
	}
	delay := q.limiter.When(item)
	q.shards.CountBackoff()
	return delay
}

// Forget makes the limiter forget the item's failures, so that the next one
// counts as the first. It changes nothing else: a delayed item stays delayed,
// and an item in processing still needs its Done.
func (q *Queue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues returns how often item was requeued since it was last forgotten,
// according to the limiter. A limiter that does not count per item returns 0.
func (q *Queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// Cancel cancels all adds of item that no run has begun to serve, and reports
// which there were. The item is no longer ready, delayed or dirty. A processing
// of the item goes on, and its Done is still owed. So no processing of item
// begins after Cancel, except for a later Add.
//
// Cancel also closes the item's window, which an add with
// [AddOptions].NotAgainWithin has opened.
//
// Cancel locks the item's shard and takes constant time. It does not change the
// limiter: see [Queue.Forget]. It works after a shutdown as well, where it may
// end a drain's wait.
func (q *Queue[T]) Cancel(item T) Canceled { return Canceled(q.shards.Cancel(item)) }

// Canceled says what a [Queue.Cancel] canceled.
type Canceled struct {
	// Ready reports that the item was ready.
	Ready bool
	// Dirty reports that the item is in processing, and was to run once more
	// afterwards.
	Dirty bool
	// Delayed reports that a delay of the item was running.
	Delayed bool
}

// Any reports whether anything was canceled.
func (c Canceled) Any() bool { return c != Canceled{} }
