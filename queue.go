package shardq

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// A Queue is a work queue of distinct items of type T. It must be made by [New]
// or [MustNew], and must not be copied. All methods are safe for concurrent
// use.
//
// An item is a key: a value of any comparable type that names something to do.
// Producers add items. Workers get them, process them, and call Done:
//
//	for {
//		item, shutdown := queue.Get()
//		if shutdown {
//			return
//		}
//		if err := reconcile(item); err != nil {
//			queue.AddRateLimited(item) // again, later each time
//		} else {
//			queue.Forget(item)
//		}
//		queue.Done(item)
//	}
//
// [Queue.Run] is this loop over a handler. [Queue.Claim] returns a claim. Its
// own methods end it, so a late call cannot end another worker's turn.
// [Queue.Items] needs no Done.
//
// # Promises
//
//   - Exclusion: between the Get that returns an item and its Done, no other
//     Get returns it.
//   - No lost add: after every Add before a shutdown, a Get returns the item.
//     Its processing begins after the Add began.
//   - Deduplication: a ready item is handed out once, however often it was
//     added. An item that is added while it is in processing runs once more
//     afterwards, however often it was added.
//   - No lost wake-up: no consumer stays blocked in Get while an item is ready,
//     unless the item's group is throttled, or the queue is paused or has a
//     [Rate] that allows no item yet.
//   - Delays: a delay never expires early. Of several delays of one item, the
//     one that expires first counts.
//
// They hold with any number of shards, producers and consumers, through
// shutdown, misuse, and panics of user code. docs/reference/semantics.md in the
// repository states them clause by clause, beside the queues of client-go and
// controller-runtime, each with its tests.
//
// # The states of an item
//
// An item is idle, ready, processing, or dirty: in processing, and added again.
//
//	        Add                 Get                  Done
//	idle ──────────▶ ready ──────────▶ processing ──────────▶ idle
//	                  ▲                    │ Add
//	                  │        Done        ▼
//	                  └───────────────── dirty
//
// In addition an item may be delayed: [Queue.AddAfter] starts a delay, and its
// expiry is an Add. A delayed item may be ready or in processing as well. The
// queue keeps nothing of an item that is idle and not delayed.
//
// Every Get needs a Done, whatever the result of the work, also if the worker
// panics. [Queue.Forget] is about the item's failures in the limiter. Neither
// replaces the other.
//
// # Order
//
// With one shard, items are handed out in the order in which they became ready,
// as in client-go. With more, each shard is first in, first out, and consumers
// visit the shards in turn, for a few items each. So every item is handed out
// within a bound, which docs/reference/semantics.md states. Nothing else
// depends on the number of shards. [AddOptions].Priority lets items overtake
// others, and with [Options].Group the groups take turns.
//
// # Concurrency, blocking and cost
//
// In the sense of the Go memory model, an Add synchronizes before the return of
// the Get that serves it, and a Done before the return of the next Get of the
// same item. So a worker sees what the producer wrote before Add, and what the
// last worker wrote before Done.
//
// Get, GetContext, GetWithPriority, GetBatch, Claim, ClaimBatch and Items block
// until an item is ready, AddContext until there is room. Drain,
// ShutDownWithDrain, WaitIdle and Run block until work is done. All others
// return at once: they hold the lock of one shard for some tens of nanoseconds,
// or for up to a tenth of a millisecond while many delays expire. A batch holds
// it for up to 64 items. Snapshot, All and the like may take long, but hold a
// lock for a few hundred items at a time. The others allocate nothing in steady
// state.
//
// The queue holds no lock while it calls user code: the limiter, the clock, the
// hash function, the functions of groups, the hooks, and methods of items. If
// user code panics, the panic reaches the caller. The queue goes on working.
//
// A queue starts no goroutine, except now and then one that calls OnStuck.
// While items are delayed it has one timer, set for the earliest deadline.
// Memory follows the number of items held, and is freed after a burst.
//
// # Shutdown
//
// [Queue.ShutDown] drops delayed items and later adds. Ready items are still
// handed out, and dirty items run once more. Then every Get returns true.
// [Queue.ShutDownWithDrain] waits for that. [Queue.Drain] ends with a context,
// lists what is left, and can wait for delays and accept retries. All may be
// called several times and concurrently.
//
// # Misuse
//
// A Done of an item that is not in processing is ignored and counted. So is an
// add of an item that is not equal to itself, such as a NaN, which no look-up
// could find again. [Options].OnMisuse reports both. An item whose dynamic
// value cannot be compared, such as a slice in an any, panics in the caller's
// goroutine, before anything is locked or changed.
//
// One misuse looks like good use, because Done names only the item: a second
// Done while another worker has the item ends that worker's turn. A claim
// cannot do that.
//
// # Coming from client-go
//
// A *Queue[T] is assignable to client-go's TypedInterface[T],
// TypedDelayingInterface[T] and TypedRateLimitingInterface[T], and a limiter of
// package limiter to its TypedRateLimiter[T] and back. The deliberate
// differences: a drain waits for ready items, too. A second Done is harmless.
// Items that are not equal to themselves are rejected, and items that cannot be
// compared panic in their caller. AddAfter never blocks. Delays expire on
// ticks. Metrics are read by [Queue.Stats], not pushed to a provider.
// docs/reference/semantics.md has all of them with their reasons.
type Queue[T comparable] struct {
	name    string
	shards  *shard.Set[T]
	limiter limiter.Limiter[T]
	clock   clock.Clock

	// ownLimiter says that the options named no limiter, and unfailed that it
	// was never asked for a delay: see mayHaveFailed.
	ownLimiter bool
	unfailed   atomic.Bool
	// firstFence is less than all fences: see worker.Claim.Fence.
	firstFence uint64

	configuration Configuration
	slots         slots[T]
	log           *eventLog // nil if there is no logger
	endLogged     atomic.Bool
	values        func() *stats.Values // of a coalescer, or else nil
	outcomes      outcomes[T]
}

// New returns a queue, or an error that lists every fault of the options.
//
// It starts no goroutine, sets no timer, and reads the clock once. A queue that
// is no longer referred to is collected without a ShutDown, with its items, and
// calls no hooks any more.
func New[T comparable](options Options[T]) (*Queue[T], error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	own := options.RateLimiter == nil
	options = options.withDefaults()
	log := options.newEventLog()
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
			Shards:     options.Shards,
			Clock:      options.Clock,
			Tick:       options.Tick,
			Route:      options.route(),
			Group:      options.Group,
			GroupLimit: options.GroupLimit,

			GroupLimitOf: options.GroupLimitOf,
			GroupRate:    options.groupRate(),
			Rate:         stats.Rate(options.Rate),

			PrioritiesBeforeTurns: options.PrioritiesBeforeTurns,
			GroupWeight:           options.GroupWeight,
			StableRouting:         options.StableRouting,
			CancelDelayOnAdd:      options.CancelDelayOnAdd,
			DropDelayIfReady:      options.DropDelayIfReady,
			KeepPlaces:            options.KeepPlaces,
			DiscardOnShutDown:     options.DiscardOnShutDown,
			OnAdd:                 options.OnAdd,
			LowPriorityInterval:   options.LowPriorityInterval,
			Capacity:              options.Capacity,
			HighWatermark:         options.HighWatermark,
			LowWatermark:          options.LowWatermark,
			OnWatermark:           options.watermarkHook(log),
			Ages:                  options.keepsAges(),
			Metrics:               options.Metrics,
			StuckAfter:            options.StuckAfter,
			OnStuck:               options.stuckHook(log),
			OnMisuse:              options.misuseHook(log),
		}),
	}
	q.unfailed.Store(true)
	q.outcomes.init(options)
	return q, nil
}

// MustNew is like [New] but panics if the options have a fault. It suits queues
// whose options are fixed in the source.
func MustNew[T comparable](options Options[T]) *Queue[T] {
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
// An idle item becomes ready, last in its shard, and a parked consumer wakes up
// for it. An item that is ready already keeps its place, and is handed out
// once. An item in processing becomes dirty: it becomes ready at its Done,
// once, however often it was added. So every add is served by a run that begins
// after it.
//
// A delay of the item keeps running and adds it again when it expires. With
// [Options].CancelDelayOnAdd, it is canceled instead.
//
// Add ignores [Options].Capacity, and never waits for room. It may yield the
// processor now and then if a producer adds ready items many times in a row
// while a woken consumer has no processor yet.
//
// After a shutdown has begun, the item is dropped and counted in Stats.Dropped.
// An item that is not equal to itself is rejected and counted in
// Stats.Rejected.
//
// Add panics with an error that wraps [ErrFull] if the item's shard holds
// 536,870,911 others. Then nothing has changed.
func (q *Queue[T]) Add(item T) { q.shards.Add(item) }

// TryAdd is [Queue.Add] that honors [Options].Capacity. It returns [ErrFull]
// and does nothing if the queue does not hold the item, and either holds as
// many others as its capacity or has callers that wait in [Queue.AddContext].
// With a priority or a delay it is [Queue.TryAddWith].
// An item that the queue holds, in any state, needs no room.
//
// It does not block. It returns [ErrRejected] for an item that is not equal to
// itself, and an error that wraps ErrFull where Add would panic. After a
// shutdown has begun, it drops the item, as Add does, and returns
// [ErrShutDown].
func (q *Queue[T]) TryAdd(item T) error { return q.shards.TryAdd(item) }

// AddContext is [Queue.TryAdd] that blocks until there is room. Callers are
// served in the order in which they began to wait. An item that another call
// adds meanwhile is added once more when there is room.
//
// AddContext returns ctx.Err() if ctx ends first, or had ended before. It
// returns ErrShutDown if the queue is shut down while it waits. Then the item
// was not added. It returns an error that wraps ErrFull, without waiting, where
// Add would panic.
func (q *Queue[T]) AddContext(ctx context.Context, item T) error {
	return q.shards.AddContext(ctx, item)
}

var (
	// ErrFull is the error of [Queue.TryAdd] when there is no room.
	ErrFull = shard.ErrFull
	// ErrRejected is the error of [Queue.TryAdd] and [Queue.AddContext] for an
	// item that is not equal to itself, such as NaN.
	ErrRejected = shard.ErrRejected
	// ErrNotAgain is the error of [Queue.TryAddWith] and
	// [Queue.AddContextWith] for an item that was added within its window: see
	// [AddOptions].NotAgainWithin.
	ErrNotAgain = shard.ErrNotAgain
	// ErrShutDown is the error of a call after a shutdown. [Queue.GetContext]
	// and the like return it when nothing is ready, too.
	ErrShutDown = shard.ErrShutDown
)

// Get returns the next ready item and takes it into processing. The caller must
// call Done for the item. No other Get returns the item before that.
//
// Get blocks while nothing is ready, or all ready items are of throttled
// groups: see [Options].GroupLimit, [Options].GroupRate and [Queue.PauseGroup].
// It also blocks while the queue is paused, or [Options].Rate allows no item. A
// blocked Get uses no processor time. A call that makes an item ready wakes one
// consumer, and as many wake as there are items.
//
// After a shutdown has begun, Get goes on returning ready items, and waiting
// for throttled ones, but after ShutDown not for those that are paused.
// Whenever there are none, it returns the zero T and true, at once, to every
// caller. A later Get may still return an item that was dirty and is Done by
// then. Get never returns true together with an item. A zero T with false is an
// item like any other.
func (q *Queue[T]) Get() (item T, shutdown bool) { return q.shards.Get() }

// GetContext is [Queue.Get] that ends with ctx. It returns the next ready item,
// [ErrShutDown] where Get returns true, or ctx.Err() after ctx has ended. With
// an error, the item is the zero T, and nothing was taken: an item that becomes
// ready as ctx ends is either returned or stays ready.
//
// A blocked GetContext costs a little more than a blocked Get. If an item is
// ready, they cost the same, except for the check of ctx.
//
// After a shutdown, a worker whose Done made its item ready again should take
// that item before it leaves. If its context ends just then, and all other
// workers have left, nothing takes the item, and a drain waits for it.
func (q *Queue[T]) GetContext(ctx context.Context) (item T, err error) {
	return q.shards.GetContext(ctx)
}

// GetWithPriority is [Queue.Get] that also returns the priority with which the
// item was ready, so that a worker can request it again: see
// [AddOptions].Priority. With a shutdown of true it returns 0.
func (q *Queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	return q.shards.GetWithPriority()
}

// Done ends the processing of item, which a Get of this queue returned. If item
// was added meanwhile, it becomes ready again, last in its shard. Otherwise the
// queue forgets it, unless a delay of it is running. Any goroutine may call
// Done. A Done that is too late may end the turn of another consumer that has
// the item by then. The Done of a claim cannot: see [Queue.Claim].
//
// A Done of an item that is not in processing changes nothing. It is counted in
// Stats.Misused and reported to [Options].OnMisuse. Done works in the same way
// after a shutdown, where it may end a drain's wait.
func (q *Queue[T]) Done(item T) { q.shards.Done(item) }

// Len returns the depth of the queue: the number of ready items, including
// those of throttled groups. Delayed items, items in processing and dirty items
// are not ready.
//
// It locks one shard after the other, only those with ready items. Under
// concurrent use, the result may be out of date when Len returns.
func (q *Queue[T]) Len() int { return q.shards.Len() }
