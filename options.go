package shardq

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// MaxShards is the largest number of shards that a queue can have.
const MaxShards = 4096

// MaxGroupWeight is the greatest weight of a group: see [Options].GroupWeight.
const MaxGroupWeight = 1 << 20

// DefaultTick is the resolution of delays when [Options].Tick is zero.
const DefaultTick = time.Millisecond

// Options configure a [Queue]. The zero Options is a complete queue. [New]
// reads them once, keeps no reference to the struct, and does not modify it.
type Options[T comparable] struct {
	// Name labels the queue in logs, metrics, hooks and pages. It need not be
	// unique.
	Name string

	// Shards is the number of independent shards, 1 to [MaxShards]. One shard
	// hands items out strictly in the order in which they became ready, as
	// client-go does. More shards relax the order between items, never the
	// promises, and let goroutines work side by side.
	//
	// If zero, it grows with GOMAXPROCS: 16 shards for one processor, and 32
	// for two to eight. For more it is four for each processor, rounded up to a
	// power of two, and at most 256.
	Shards int

	// RateLimiter computes the delays of AddRateLimited.
	//
	// If nil, it is a backoff for each item that starts at 5 ms and doubles
	// with each requeue up to 1000 s, as client-go's
	// DefaultTypedItemBasedRateLimiter does.
	RateLimiter limiter.Limiter[T]

	// Clock is the queue's source of time.
	//
	// If nil, it is [clock.Real].
	Clock clock.Clock

	// Tick is the resolution of delays. A delay expires at the first tick at or
	// after its deadline, so never early, and delays expire in the order of
	// their ticks. Finer ticks cost more wake-ups. The Go runtime does not keep
	// sleeps much below a millisecond.
	//
	// If zero, it is [DefaultTick].
	Tick time.Duration

	// Hash chooses an item's shard, in place of the queue's own seeded hash.
	// Items with the same hash share a shard. Equal items must have equal
	// hashes. Look-ups within a shard always use a seeded hash, so a poor Hash
	// makes the load uneven, but no operation slow. Most calls that take an
	// item call Hash once, with no lock held.
	Hash func(item T) uint64

	// StableRouting chooses an item's shard by an unseeded xxhash of the item's
	// value. Then an item has the same shard number in every process with the
	// same number of shards. T must consist of strings, booleans, integers, and
	// arrays and structs of them, unless there is a Group. A party that chooses
	// the items can then choose their shard.
	StableRouting bool

	// Group returns the group of an item, such as its tenant:
	//
	//	Group: func(item Key) string { return item.Tenant }
	//
	// Groups take turns by a weighted round robin: each hands out as many ready
	// items in its turn as its GroupWeight says. Within a group, items come by
	// priority and then in order.
	//
	// The group must be part of the item: equal items must have equal groups at
	// all times. If a group is looked up elsewhere and changes, the item is in
	// two shards at once. It may be handed out twice, and its Dones miss it, so
	// that a drain waits forever.
	//
	// All items of a group share a shard, which the group's name chooses. So
	// Hash must be nil, and StableRouting works with any T. One group has at
	// most the throughput of one shard. A group costs memory while it has
	// items, and nothing afterwards: see docs/reference/benchmarks.md. Most
	// calls that take an item call Group once, with no lock held.
	//
	// With one shard, an item with i ready items before it in its group is
	// handed out within (i/weight+1) × W Gets, where W is the total weight of
	// the groups with ready items. With more shards the bound is eight times as
	// large.
	Group func(item T) string

	// GroupLimit limits the items of one group that are in processing at once,
	// in the whole queue. A group at its limit is throttled: its ready items
	// stay ready and count in Len, but no Get returns them. When a Done makes
	// room, the group moves to the end of the round robin. A group that reaches
	// its limit ends its turn, so a weight above the limit has no effect.
	//
	// A Get waits for throttled items, also after a shutdown has begun. So if
	// the limit is 1, a Done that is never called stops its whole group, and
	// then a drain and every Get after a shutdown. A worker that gets a second
	// item before the Done of the first may wait for itself.
	//
	// If zero, there is no limit.
	GroupLimit int

	// GroupLimitOf returns the limit of a group, in place of GroupLimit. Each
	// call that adds an item calls it, with no lock held. The latest result
	// counts. If it is greater than before, a throttled group notices at its
	// next Done, or at [Queue.RefreshGroup].
	//
	// If nil, or if it returns 0 or less, GroupLimit counts.
	GroupLimitOf func(group string) int

	// GroupRate returns the rate at which the items of a group are handed out,
	// in the whole queue. While its rate allows no item, a group is throttled,
	// as at its GroupLimit: its ready items stay ready, no Get returns them,
	// and no worker is held. The queue does not poll: its timer frees the group
	// at the first tick at which an item is allowed.
	//
	// Each call that adds an item calls GroupRate, with no lock held. The
	// latest result counts from the next item on that is handed out. The tokens
	// that are left stay, up to the new Burst, and a greater Burst fills at the
	// new rate.
	// A group that waits already waits as long as the old rate says, unless
	// [Queue.RefreshGroup] is called. A result with a fault, such as a negative
	// PerSecond, panics in the caller before anything has changed.
	//
	// Gets wait for throttled groups, also after a shutdown has begun. A group
	// without items is remembered until its rate allows a whole Burst again. A
	// Get reads the clock. If the clock is set back, rates wait for it, as
	// delays do.
	//
	// If nil, there are no rates.
	GroupRate func(group string) Rate

	// Rate is the rate at which the queue hands out items, those of all groups
	// together. [Queue.SetRate] changes it. A Get that the rate does not allow
	// yet parks, also after a shutdown has begun, and the queue's timer wakes
	// one consumer when it does. The items stay ready meanwhile.
	//
	// If zero, there is no limit.
	Rate Rate

	// GroupWeight returns how many items of a group are handed out in its turn.
	// Values below 1 count as 1. Values above [MaxGroupWeight] are reduced to
	// [MaxGroupWeight]. Each call that adds an item calls it, with no lock
	// held. The latest result counts.
	//
	// If nil, every weight is 1.
	GroupWeight func(group string) int

	// PrioritiesBeforeTurns makes the groups of a shard take turns within the
	// highest priority that is ready there. The cost of an add or a Get that
	// changes a group's highest priority then grows with the number of
	// priorities in use. The option has no effect without Group.
	//
	// If false, groups take turns whatever the priorities of their items, so
	// that no group gets ahead by requesting a high priority.
	PrioritiesBeforeTurns bool

	// LowPriorityInterval makes every n-th Get serve the priority that has
	// waited longest, so that low priorities make progress however many items
	// of higher ones are added. With Group, it counts the Gets of each group,
	// and with PrioritiesBeforeTurns those of the shard as well.
	//
	// With one shard, an item with i items of its priority before it, and L
	// priorities in use, is handed out within (i+1) × L × LowPriorityInterval
	// Gets. With more shards the bound is larger: see
	// docs/reference/semantics.md and [AddOptions].Priority.
	//
	// If zero, priorities are strict and low ones may starve.
	LowPriorityInterval int

	// CancelDelayOnAdd makes an Add of a delayed item cancel the delay, as
	// controller-runtime's priority queue does. If false, the delay keeps
	// running and adds the item again when it expires, as in client-go.
	CancelDelayOnAdd bool

	// DropDelayIfReady drops a delay that is requested for an item that is
	// ready or dirty, as controller-runtime's priority queue does: the run to
	// come serves the call, and gets its priority at once. If false, the delay
	// runs beside, and adds the item again when it expires.
	DropDelayIfReady bool

	// KeepPlaces gives an item the place of the add that asked for its run, not
	// that of the moment at which it became ready, as controller-runtime's
	// priority queue does. So an item that was added while it was in processing
	// goes before items that were added after that. So does an item that was
	// added with a delay, if an add without one made it ready, with no higher
	// priority. An item whose delay has expired, or whose priority is raised,
	// gets a new place, the last.
	//
	// It makes an add that is not the last of its priority cost the logarithm
	// of the number of such items, and takes 16 bytes for each item.
	KeepPlaces bool

	// DiscardOnShutDown makes [Queue.ShutDown] drop what is ready or dirty as
	// well, and count it in Stats.Dropped, so that workers stop at once, as
	// with controller-runtime's priority queue. A drain still waits for these
	// items, until ShutDown is called.
	DiscardOnShutDown bool

	// The queue calls OnAdd for each call, and each delay that expires, that
	// puts an item in line for a run, or raises its priority there, or takes it
	// out of the line without a Get: see [stats.Add]. It does not for adds that
	// a run to come serves anyway. OnAdd runs with no lock held,
	// in the goroutine of the call, of another call at the same time, or of
	// the clock's timer. It may use the queue. By then a consumer may have the
	// item. It must be safe for concurrent use, and must not panic: in the
	// goroutine of the timer that ends the program. [New] says when the queue
	// calls no hooks any more.
	OnAdd func(stats.Add[T])

	// Capacity limits the number of distinct items held, in any state. Only
	// [Queue.TryAdd] and [Queue.AddContext] honor it. Other adds always
	// succeed, and are counted in Stats.OverCapacity when they exceed it. An
	// item that is held already needs no room.
	//
	// If zero, there is no limit.
	Capacity int

	// The queue calls OnWatermark when it holds HighWatermark items, and again
	// when it is down to LowWatermark. Calls alternate and never overlap. A
	// crossing that reverses during a call may be skipped. OnWatermark runs in
	// the goroutine of the call that changed the number, with no lock held, so
	// it may use the queue. Other calls do not wait for it.
	//
	// The Logger logs both marks as well, also without OnWatermark. Without
	// OnWatermark and Logger the marks have no effect. Either both are 0, or 0
	// <= LowWatermark < HighWatermark.
	OnWatermark                 func(Watermark)
	HighWatermark, LowWatermark int

	// Ages makes the queue record since when each item is ready or in
	// processing, to the tick, for [Queue.Snapshot] and the like. An age may be
	// too long by the lateness of the clock's timer. The queue then keeps the
	// items in processing in the order in which they were handed out.
	//
	// Ages costs 8 bytes for each item, and a wake-up for each tick in which
	// the queue was used. Metrics, OnStuck, and a StuckAfter with a Logger
	// include it.
	Ages bool

	// Metrics makes the queue count retries, and measure how long items wait to
	// be handed out and how long they are in processing: see [Stats].Metrics.
	// It includes Ages. It costs 8 bytes more for each dirty item, and one or
	// two KiB for each shard, at most nine.
	//
	// It also makes the queue count the attempts of workers by their results,
	// and with Group by group: see [Queue.GroupAttempts]. Then the queue calls
	// Group once more for each attempt.
	//
	// While there are fewer than about 250 calls in a millisecond, each reads
	// the clock, and durations are exact. With more calls several share a
	// reading of a coarse clock: first the adds, then all. As a rule a reading
	// is some dozen microseconds old, and never older than a tick plus the
	// delay of the clock's timer. A duration may be wrong by as much. A mean is
	// accurate for durations well above a tick.
	Metrics bool

	// The queue calls OnStuck for each item that has been in processing for
	// StuckAfter, once for each processing, unless the queue is shut down. (A
	// Drain that waits for delays has not shut it down yet.) OnStuck runs in
	// the goroutine of the clock's timer, or in one of its own, with no lock
	// held. It may use the queue, and shut it down. It must be safe for
	// concurrent use, and must not panic. [Queue.ShutDown] does not wait for a
	// call that is in progress. [New] says when the queue calls no hooks any
	// more.
	//
	// With StuckAfter, the Logger logs the same items, also without OnStuck.
	// Without OnStuck and Logger, only the live page uses StuckAfter.
	OnStuck    func(stats.Item[T])
	StuckAfter time.Duration

	// Logger gets the events that an operator may want to look into. Errors are
	// items that workers discard, and handlers that panic. Warnings are misuse,
	// stuck items (with StuckAfter), failed attempts, and drains that ended
	// early. Infos are watermarks and the end of the queue.
	//
	// Five failed attempts without a success between them are an outage: see
	// [Stats].Outages. It has one warning at its beginning, others in pauses of
	// 10 seconds, a minute, ten minutes and from then on an hour by Clock, and
	// an info at its end. Its other failed attempts are not logged, except
	// panics. A success counts if an attempt of the same [worker.Pool] has
	// failed before.
	//
	// At most ten lines of each kind are written at once, and then one a
	// second, with the number of the lines left out as "suppressed".
	//
	// A line names no item unless LogItems is set. Then it has at most 200
	// bytes of the item, and does not follow pointers. Errors of handlers are
	// written as they are. Logger is called in the goroutine of the call that
	// the event is about, or in that of OnStuck, with no lock held.
	//
	// If nil, nothing is logged.
	Logger   *slog.Logger
	LogItems bool

	// The queue calls OnMisuse for each call that breaks the rules and was
	// ignored, such as a second Done. OnMisuse runs in the goroutine of that
	// call, with no lock held, so it may use the queue. It must be safe for
	// concurrent use.
	//
	// If nil, misuse is only counted.
	OnMisuse func(Misuse[T])
}

// A Watermark is the argument of [Options].OnWatermark.
type Watermark struct {
	// Queue is the name of the queue.
	Queue string
	// High reports that the number of items has risen to the high watermark.
	// Otherwise it has fallen to the low one.
	High bool
}

// Misuse describes a call that the queue ignored because it breaks the rules.
type Misuse[T comparable] struct {
	// Queue is the name of the queue.
	Queue string
	// Kind says which rule was broken.
	Kind MisuseKind
	// Item is the argument of the call.
	Item T
}

// A MisuseKind names the rule that a call broke.
type MisuseKind uint8

const (
	// DoneWithoutGet is a Done of an item that is not in processing: it was
	// never handed out, or its Done was called already.
	DoneWithoutGet MisuseKind = MisuseKind(shard.DoneWithoutGet)
	// ItemNotEqualToItself is an item such as NaN, which no look-up could find
	// again. The queue rejects it.
	ItemNotEqualToItself MisuseKind = MisuseKind(shard.ItemNotEqualToItself)
)

// String returns the name of the rule, for logs.
func (k MisuseKind) String() string { return shard.Misuse(k).String() }

// withDefaults returns the options with every zero field replaced.
func (o Options[T]) withDefaults() Options[T] {
	if o.Shards == 0 {
		o.Shards = shard.DefaultShards()
	}
	if o.RateLimiter == nil {
		o.RateLimiter = limiter.NewExponential[T](5*time.Millisecond, 1000*time.Second)
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Tick == 0 {
		o.Tick = DefaultTick
	}
	return o
}

// keepsAges reports whether the queue records since when items are in their
// states.
func (o Options[T]) keepsAges() bool { return o.Ages || o.Metrics || o.watchesForStuck() }

// route returns the function that chooses an item's shard, or nil for the
// queue's own hash.
func (o Options[T]) route() func(item T) uint64 {
	if !o.StableRouting || o.Group != nil {
		return o.Hash
	}
	route, _ := shard.StableRoute[T]() // validated
	return route
}

// watermarkHook returns OnWatermark as the shards call it, or nil.
func (o Options[T]) watermarkHook(log *eventLog) func(high bool) {
	name, hook := o.Name, o.OnWatermark
	if !o.watchesWatermarks() {
		return nil
	}
	return func(high bool) {
		log.watermark(high)
		if hook != nil {
			hook(Watermark{Queue: name, High: high})
		}
	}
}

func (o Options[T]) watchesWatermarks() bool {
	return o.OnWatermark != nil || o.Logger != nil && o.HighWatermark != 0
}

func (o Options[T]) watchesForStuck() bool {
	return o.OnStuck != nil || o.Logger != nil && o.StuckAfter > 0
}

// stuckHook returns OnStuck as the shards call it, or nil.
func (o Options[T]) stuckHook(log *eventLog) func(stats.Item[T]) {
	limiter, clock, hook := o.RateLimiter, o.Clock, o.OnStuck
	if !o.watchesForStuck() {
		return nil
	}
	return func(i stats.Item[T]) {
		i.Attempts = limiter.NumRequeues(i.Item)
		if log != nil {
			log.stuck(i.Item, clock.Now().Sub(i.Since), i.Attempts)
		}
		if hook != nil {
			hook(i)
		}
	}
}

// misuseHook returns OnMisuse as the shards call it, or nil.
func (o Options[T]) misuseHook(log *eventLog) func(kind shard.Misuse, item T) {
	name, hook := o.Name, o.OnMisuse
	if hook == nil && log == nil {
		return nil
	}
	return func(kind shard.Misuse, item T) {
		if log != nil {
			log.misuse(MisuseKind(kind), item)
		}
		if hook != nil {
			hook(Misuse[T]{Queue: name, Kind: MisuseKind(kind), Item: item})
		}
	}
}

// validate returns one error that names every fault, or nil.
func (o Options[T]) validate() error {
	var faults []error
	fault := func(format string, arguments ...any) {
		faults = append(faults, fmt.Errorf("shardq: "+format, arguments...))
	}
	if o.Shards < 0 || o.Shards > MaxShards {
		fault("Options.Shards is %d: want 0 (the default) to %d", o.Shards, MaxShards)
	}
	if o.Tick < 0 {
		fault("Options.Tick is %v: want 0 (the default) or more", o.Tick)
	}
	if o.Hash != nil && o.StableRouting {
		fault("Options.Hash and Options.StableRouting are both set: want at most one")
	}
	if o.Hash != nil && o.Group != nil {
		fault("Options.Hash and Options.Group are both set: want at most one, because an item's group chooses its shard")
	}
	if o.GroupLimit < 0 {
		fault("Options.GroupLimit is %d: want 0 (no limit) or more", o.GroupLimit)
	}
	if o.Group == nil && o.GroupLimit > 0 {
		fault("Options.GroupLimit is %d: want 0 without Group", o.GroupLimit)
	}
	if o.Group == nil && o.GroupWeight != nil {
		fault("Options.GroupWeight is set: want it with Group")
	}
	if o.Group == nil && o.GroupLimitOf != nil {
		fault("Options.GroupLimitOf is set: want it with Group")
	}
	if o.Group == nil && o.GroupRate != nil {
		fault("Options.GroupRate is set: want it with Group")
	}
	if err := o.Rate.Validate(); err != nil {
		fault("Options.Rate: %w", err)
	}
	if o.LowPriorityInterval < 0 || o.LowPriorityInterval > math.MaxInt32 {
		fault("Options.LowPriorityInterval is %d: want 0 (never) to %d", o.LowPriorityInterval, math.MaxInt32)
	}
	if o.Capacity < 0 {
		fault("Options.Capacity is %d: want 0 (no limit) or more", o.Capacity)
	}
	marked := o.HighWatermark != 0 || o.LowWatermark != 0
	if (marked || o.OnWatermark != nil) && !(0 <= o.LowWatermark && o.LowWatermark < o.HighWatermark) {
		fault("Options.LowWatermark is %d and HighWatermark %d: want 0 <= low < high", o.LowWatermark, o.HighWatermark)
	}
	switch {
	case o.OnStuck != nil && o.StuckAfter <= 0:
		fault("Options.StuckAfter is %v: want more than 0 with OnStuck", o.StuckAfter)
	case o.StuckAfter < 0:
		fault("Options.StuckAfter is %v: want 0 (never) or more", o.StuckAfter)
	}
	if o.StableRouting && o.Group == nil {
		if _, err := shard.StableRoute[T](); err != nil {
			fault("Options.StableRouting: %w", err)
		}
	}
	return errors.Join(faults...)
}
