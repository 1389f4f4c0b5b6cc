package shardq

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
)

// A Queue is a work queue of items of type T: see the package documentation. It
// must be made by [New] or [Must], and must not be copied.
//
// All methods are safe for concurrent use. All return at once but Get, GetContext,
// GetBatch, the loop over Items, AddContext, ShutDownWithDrain and Drain: beyond the lock
// of one shard for some tens of nanoseconds, or a tenth of a millisecond while many delays
// end, what that may include is said where it applies. Adding or ending an item whose
// dynamic value cannot be compared, such as a slice in an any, panics in the caller's
// goroutine, before anything is locked or changed.
type Queue[T comparable] struct {
	name    string
	shards  *shard.Set[T]
	limiter limiter.Limiter[T]
	clock   clock.Clock

	// ownLimiter says that the options named no limiter, and unfailed that it was never
	// asked for a delay: see mayHaveFailed.
	ownLimiter bool
	unfailed   atomic.Bool
	// firstFence is what all fences are above: see Claim.Fence.
	firstFence uint64

	configuration Configuration
	workforce     workforce[T]
	log           *logbook // nil if there is no logger
	endLogged     atomic.Bool
	values        func() *Values // of a Coalescer, otherwise nil
}

// New returns a queue, or an error that lists every fault of the options.
//
// It starts no goroutine and sets no timer, and reads the clock once. A queue that is
// no longer referred to needs no ShutDown to be collected, unless items wait in it
// for their delays: the clock's timer refers to it until they are through.
func New[T comparable](options Options[T]) (*Queue[T], error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	own := options.RateLimiter == nil
	options = options.withDefaults()
	log := options.newLogbook()
	configuration := options.configuration()
	q := &Queue[T]{
		ownLimiter: own,
		firstFence: uint64(max(0, configuration.Created.UnixNano())),

		name:    options.Name,
		limiter: options.RateLimiter,
		clock:   options.Clock,

		configuration: configuration,
		log:           log,

		shards: shard.New(shard.Config[T]{
			Shards:           options.Shards,
			Clock:            options.Clock,
			Tick:             options.Tick,
			Route:            options.route(),
			Group:            options.Group,
			GroupLimit:       options.GroupLimit,
			GroupWeight:      options.GroupWeight,
			StableRouting:    options.StableRouting,
			CancelDelayOnAdd: options.CancelDelayOnAdd,
			LowerLevelEvery:  options.LowerLevelEvery,
			Capacity:         options.Capacity,
			HighWatermark:    options.HighWatermark,
			LowWatermark:     options.LowWatermark,
			OnWatermark:      options.watermarkHook(log),
			Ages:             options.keepsAges(),
			Metrics:          options.Metrics,
			StuckAfter:       options.StuckAfter,
			OnStuck:          options.stuckHook(log),
			OnMisuse:         options.misuseHook(log),
		}),
	}
	q.unfailed.Store(true)
	return q, nil
}

// Must is like [New] but panics if the options have a fault. It suits queues
// whose options are fixed in the source.
func Must[T comparable](options Options[T]) *Queue[T] {
	q, err := New(options)
	if err != nil {
		panic(fmt.Sprintf("%v", err))
	}
	return q
}

// Name returns [Options].Name.
func (q *Queue[T]) Name() string { return q.name }

// Add asks for item to be processed.
//
// An idle item becomes ready, last in its shard, and a consumer that sleeps in Get
// is woken for it. An item that is ready already stays where it is, and is handed out
// once. An item in processing becomes ready when its Done comes, once, however often
// it was added meanwhile. So of all adds of an item, each is served by a worker who
// begins after it.
//
// A delay of the item goes on and adds it again when it ends, or, with
// [Options].CancelDelayOnAdd, is canceled.
//
// Once a shutdown has begun, the item is dropped and counted in Stats.Dropped. An item
// that is not equal to itself is rejected and counted in Stats.Rejected.
//
// Add never waits for room, nor does it ask for any: see [Options].Capacity. If a
// producer adds what is ready already, many times in a row, while a consumer that was
// woken has not had a processor yet, Add yields the processor now and then.
//
// Add panics, with an error that wraps [ErrFull], if the item's shard holds
// [shard.MaxItems] others, half a billion. Nothing has changed then.
func (q *Queue[T]) Add(item T) { q.shards.Add(item) }

// TryAdd is [Queue.Add] if there is room for item under [Options].Capacity: it returns
// [ErrFull], and does nothing, if the queue does not hold the item and holds as many others
// as its capacity already, or others wait for room in [Queue.AddContext]. An item that the
// queue holds, in whatever state, is always taken in: duplicates and requeues need no room.
//
// Once a shutdown has begun, it drops the item, as Add does, and returns [ErrShutDown]. It
// returns [ErrRejected] for an item that is not equal to itself. It does not wait.
//
// It returns an error that wraps ErrFull where Add would panic.
func (q *Queue[T]) TryAdd(item T) error { return q.shards.TryAdd(item) }

// AddContext is [Queue.TryAdd] that waits for room, for as long as ctx lasts. Who waits
// first is let in first, and adds first. An item that somebody else adds while its
// AddContext waits is added once more when there is room. It returns ctx.Err() once ctx has
// ended, also before it looks for room, and ErrShutDown if the queue is shut down while it
// waits: then item was not added. It returns an error that wraps ErrFull, without
// waiting, where Add would panic.
func (q *Queue[T]) AddContext(ctx context.Context, item T) error {
	return q.shards.AddContext(ctx, item)
}

var (
	// ErrFull is what [Queue.TryAdd] returns when there is no room for another item.
	ErrFull = shard.ErrFull
	// ErrRejected is what [Queue.TryAdd] and [Queue.AddContext] return for an item that
	// is not equal to itself, such as NaN.
	ErrRejected = shard.ErrRejected
)

// Get returns the next ready item and takes it into processing: no other Get returns
// it until its Done, which the caller now owes.
//
// While nothing is ready, or all of that is held back by an [Options].GroupLimit, Get
// blocks. Sleeping costs no processor time; whoever makes an item ready wakes a sleeper, and
// as many sleepers wake as there are items to take.
//
// After a shutdown has begun, Get goes on returning what is ready, and waiting for what is
// held back. Whenever there is neither, it returns the zero T and true, at once, to every caller; a later Get may still
// return an item, one that was dirty and is Done by then. Shutdown is never true
// together with an item. A zero T with a shutdown of false is an item like any other.
func (q *Queue[T]) Get() (item T, shutdown bool) { return q.shards.Get() }

// ErrShutDown is what [Queue.GetContext] returns where [Queue.Get] says that the queue
// is shut down.
var ErrShutDown = shard.ErrShutDown

// GetContext is [Queue.Get] for as long as ctx lasts. It returns the next ready item, or
// [ErrShutDown] where Get returns true, or ctx.Err() once ctx has ended: then it takes
// nothing, even if something is ready. If the end of ctx meets the arrival of an item,
// either GetContext returns the item, or the item stays ready for another Get: none is
// lost. With an error, the item is the zero T.
//
// After a shutdown, a worker whose Done made its item ready again should take it before
// it leaves: if its context ends just then, and all others were told of the shutdown
// before, nobody is left for the item, and a drain waits for it.
//
// Sleeping with a context costs a little more than sleeping in Get; taking an item that
// is ready costs the same, but for the look at ctx.
func (q *Queue[T]) GetContext(ctx context.Context) (item T, err error) {
	return q.shards.GetContext(ctx)
}

// GetWithPriority is [Queue.Get] that also returns the priority with which the item was
// ready: a worker that has to add it again may want to pass that on. See
// [AddOptions].Priority. With a shutdown of true it returns 0.
func (q *Queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	return q.shards.GetWithPriority()
}

// Done ends the processing of item, which a Get of this queue returned. If item was
// added meanwhile, it becomes ready again, last in its shard; otherwise the queue
// keeps nothing of it, unless it waits for a delay. Any goroutine may call Done,
// not only the one that called Get. A Done that comes too late may end the turn of another
// consumer that has the item by then; a [Claim] cannot.
//
// Done of an item that is not in processing, because it was never handed out or was
// Done already, changes nothing, is counted in Stats.Misused, and reported to
// [Options].OnMisuse. It works in the same way after a shutdown, where it may be
// what a drain waits for.
func (q *Queue[T]) Done(item T) { q.shards.Done(item) }

// Len returns the number of ready items: those that a Get would return now, or as soon as
// their group has come below its [Options].GroupLimit. Items
// that wait for a delay, that are in processing, or that are dirty are not ready.
//
// It asks one shard after the other, and only those that have something ready: under
// concurrent use it is a number that was about right a moment ago.
func (q *Queue[T]) Len() int { return q.shards.Len() }

// ShutDown begins the shutdown: items that wait for a delay are dropped and counted,
// later adds are dropped and counted, and every Get that finds nothing ready returns
// true. Ready items are still handed out, dirty items still run once more.
//
// It does not wait for workers. When it returns, the timer is stopped, and the
// function that makes due items ready has ended. To that end it waits for a call of
// the queue's clock that is under way, so a [clock.Clock] must not call ShutDown from
// its own methods or wait for somebody who does. Items that waited cost time in
// proportion to their number.
//
// It does not wait for [Options].OnStuck, which may call it. The queue starts no
// further call of OnStuck. A call that is under way, or about to begin, runs on after
// ShutDown has returned. Nothing else of the queue's runs then but its callers.
//
// It may be called again: later calls, and those beside the first, return at once,
// perhaps before the first. Each ends the wait of every ShutDownWithDrain under way.
func (q *Queue[T]) ShutDown() {
	q.shards.ShutDown()
	q.logEnd()
}

// logEnd logs the first end of the queue.
func (q *Queue[T]) logEnd() {
	if q.log != nil && q.endLogged.CompareAndSwap(false, true) {
		q.log.shutDown(q.shards.Stats())
	}
}

// ShutDownWithDrain is ShutDown, and then waits until no item is ready and none is in
// processing, so that all work that was taken in is done. (client-go's waits for
// those in processing alone.) Items that wait for a delay are dropped, as ever.
//
// Workers have to go on with Get and Done meanwhile. A worker must not call it while
// it owes a Done, or it waits for itself. A ShutDown that comes later ends the wait.
// It may be called again, also at the same time or after ShutDown; each call waits.
func (q *Queue[T]) ShutDownWithDrain() {
	q.shards.ShutDownWithDrain()
	q.logEnd()
}

// ShuttingDown reports whether a shutdown has begun. It never becomes false again.
func (q *Queue[T]) ShuttingDown() bool { return q.shards.ShuttingDown() }

// AddAfter adds item, as [Queue.Add] does, once duration has passed on the queue's
// clock. It does not wait for that.
//
// The delay ends at the first tick at or after its deadline, never before: see
// [Options].Tick. The delays of one shard end in the order of their ticks, whatever
// the order of the calls. With a duration of zero or less, AddAfter is Add. There is
// no greatest duration.
//
// If item waits already, the earlier deadline counts, and adds it once. An item that
// is ready or in processing may wait at the same time.
//
// Once a shutdown has begun, the item is dropped and counted in Stats.Dropped; what
// waits when it begins is dropped then. An item that is not equal to itself is
// rejected and counted in Stats.Rejected.
//
// The number of waiting items makes no difference to the steps taken. AddAfter reads
// the clock, and sets the clock's timer if the deadline is earlier than all others.
func (q *Queue[T]) AddAfter(item T, duration time.Duration) { q.shards.AddAfter(item, duration) }

// AddWith adds item as the options say. The zero AddOptions makes it [Queue.Add].
//
// An unknown policy panics.
func (q *Queue[T]) AddWith(item T, options AddOptions) {
	if !options.Policy.Valid() {
		panic(fmt.Sprintf("shardq: AddOptions.Policy is %d: want KeepEarliest, KeepLatest, KeepNew or KeepOld", options.Policy))
	}
	delay := options.After
	if options.RateLimited {
		if q.shards.Reject(item) {
			return // before the limiter would keep something for it
		}
		delay = max(delay, q.backOff(item))
	}
	q.shards.AddWith(item, shard.Delay{
		Duration: delay, Policy: options.Policy, MaxWait: options.MaxWait, Priority: options.Priority,
		Retry: options.RateLimited || options.After != 0,
	})
}

// AddRateLimited adds item after the delay that the limiter has for it: it is
// AddAfter(item, limiter.When(item)), and counts as one more requeue of the item. Use
// it for work that failed; still call Done, before or after. Call Forget once the work
// has succeeded or is given up.
//
// An item that is not equal to itself is rejected before the limiter is asked. After
// a shutdown the limiter is still asked, and the item is dropped.
func (q *Queue[T]) AddRateLimited(item T) {
	if q.shards.Reject(item) {
		return // before the limiter would keep something for it
	}
	q.AddAfter(item, q.backOff(item))
}

// backOff asks the limiter for a delay.
func (q *Queue[T]) backOff(item T) time.Duration {
	if q.unfailed.Load() {
		q.unfailed.Store(false)
	}
	delay := q.limiter.When(item)
	q.shards.CountBackOff()
	return delay
}

// Cancel takes back all adds of item that no worker has begun to serve, and says which
// there were: the item is not ready any more, it does not wait for a delay, and if it was
// to run once more after its present processing, it is not. A processing under way goes
// on, and its Done is still owed. So no processing of item begins after a Cancel, but for
// an Add that comes after it.
//
// Cancel locks the item's shard and takes constant time. Its history in the limiter stays:
// see [Queue.Forget]. It works in the same way after a shutdown, where it may be what a
// drain waits for.
func (q *Queue[T]) Cancel(item T) Canceled { return q.shards.Cancel(item) }

// Canceled says what a [Queue.Cancel] took back.
type Canceled = shard.Canceled

// Forget ends the item's history in the limiter, so that its next failure counts as
// its first. It changes nothing else: if item waits it goes on waiting, and if it is
// in processing its Done is still owed.
func (q *Queue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues returns how often item was requeued since it was last forgotten,
// according to the limiter. A limiter that does not count per item says 0.
func (q *Queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// AddBatch is [Queue.Add] of each of the items. They become ready in their order, as far as
// they share a shard. It costs less than as many calls: the lock of a shard is taken once
// for all its items, and one consumer is woken, who wakes others as there is work. A batch
// of more than 64 items is dealt with as several of 64, so that others get their turns.
//
// The queue keeps no reference to the slice. If an item's dynamic value cannot be compared,
// AddBatch panics; of the items before it, some may have been added.
func (q *Queue[T]) AddBatch(items []T) { q.shards.AddBatch(items) }

// AddBatchAfter is [Queue.AddAfter] of each of the items. It costs less than as many calls:
// it reads the clock once for each 64 items, and takes the lock of a shard once for all of
// those that belong there.
//
// The queue keeps no reference to the slice. If an item's dynamic value cannot be compared,
// AddBatchAfter panics; of the items before it, some may have been added.
func (q *Queue[T]) AddBatchAfter(items []T, duration time.Duration) {
	q.shards.AddBatchAfter(items, duration)
}

// GetBatch is [Queue.GetContext] for as many items as dst has room for: it waits until there
// is one, takes what is ready then, and returns how many items that was. They come in the
// order of as many Gets. Each is in processing, and owed a Done or a place in a
// [Queue.DoneBatch].
//
// With an error n is 0. If dst has no room, GetBatch returns 0 at once.
func (q *Queue[T]) GetBatch(ctx context.Context, dst []T) (n int, err error) {
	return q.shards.GetBatch(ctx, dst)
}

// DoneBatch is [Queue.Done] of each of the items, which need not have come from one
// GetBatch. It costs less than as many calls, as with [Queue.AddBatch].
func (q *Queue[T]) DoneBatch(items []T) { q.shards.DoneBatch(items) }

// Stats is a reading of a queue's state and counters.
type Stats = shard.Stats

// Stats returns a reading. It locks one shard after the other, each for a moment:
// every shard's part is consistent in itself, the sum only if the queue is at rest.
// The cost grows with the number of shards, not with that of items, groups or
// priorities: with Ages, at most 64 groups of a shard are asked for their oldest item.
func (q *Queue[T]) Stats() Stats {
	stats := q.shards.Stats()
	q.complete(&stats)
	return stats
}

// complete adds what the shards do not know.
func (q *Queue[T]) complete(stats *Stats) {
	stats.Capacity = q.configuration.Capacity
	stats.Workers = q.workforce.size()
	stats.Limited = -1
	if census, ok := q.limiter.(limiter.Census[T]); ok {
		stats.Limited = census.Len()
	}
	if q.values != nil {
		stats.Values = q.values()
	}
}
