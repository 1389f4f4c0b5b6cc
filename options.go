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
)

// MaxShards is the largest number of shards that a queue can have.
const MaxShards = shard.MaxShards

// MaxGroupWeight is the greatest weight of a group. See [Options].GroupWeight.
const MaxGroupWeight = shard.MaxGroupWeight

// DefaultTick is the resolution of delays when [Options].Tick is zero.
const DefaultTick = time.Millisecond

// Options configure a [Queue]. The zero Options is a complete queue. [New] reads
// them once and keeps no reference to the struct; they are never modified.
type Options[T comparable] struct {
	// Name labels the queue wherever it is looked at, such as in what the misuse
	// hook is told. It need not be unique. Default: none.
	Name string

	// Shards is the number of independent shards, 1 to [MaxShards]. One shard
	// hands items out in strict order of their becoming ready, as client-go
	// does; more of them relax the order between items (never the promises) and
	// let goroutines work side by side. Default: [shard.DefaultShards], which
	// grows with GOMAXPROCS.
	Shards int

	// RateLimiter decides how long AddRateLimited holds an item back. Default:
	// per item, 5 ms doubling with each requeue up to 1000 s, as client-go's
	// DefaultTypedItemBasedRateLimiter has it with a base of 5 ms.
	RateLimiter limiter.Limiter[T]

	// Clock is the queue's source of time. Default: [clock.Real].
	Clock clock.Clock

	// Tick is the resolution of delays: an item becomes ready at the first tick
	// at or after its deadline, so never early, and in the order of ticks.
	// Default: [DefaultTick]. Finer ticks cost more wake-ups, and the Go
	// runtime does not keep sleeps much below a millisecond.
	Tick time.Duration

	// Hash routes an item to a shard in place of the queue's own seeded hash:
	// items of one hash share a shard. Equal items must have equal hashes. It
	// routes only: look-ups within a shard always use a seeded hash, so a poor
	// Hash skews the load but never makes an operation slow. It is called once
	// in most calls that take an item, with no lock held. Default: none.
	Hash func(item T) uint64

	// StableRouting routes with an unseeded xxhash of the item's value, so that
	// an item lands on the shard of the same number in every process with the
	// same number of shards. T must be made of strings, booleans, integers, and
	// arrays and structs of them, unless there is a Group. Whoever chooses the items can then choose
	// their shard. Default: false, each queue has a seed of its own.
	StableRouting bool

	// Group maps an item to its group, such as the tenant that it is of:
	//
	//	Group: func(item Key) string { return item.Tenant }
	//
	// Ready items are then handed out in turns among the groups, whatever their numbers:
	// one after the other, as many of each as its GroupWeight says; the items of a group by
	// their priorities, and then in their order.
	//
	// The group must be part of what the item is: equal items must have equal groups, at
	// any time. If a group is looked up elsewhere and changes, the item is in two shards at
	// once, may be handed out twice, and its Dones go astray, so that a drain waits for ever.
	//
	// All items of a group are in one shard, which follows from the group: so Hash must be
	// nil, and StableRouting is by the group's name, with any T. What one group alone can
	// get through is what one shard can. A group costs about 120 bytes while it has items, or
	// 500 if priorities are used, and nothing afterwards. Group is called once in most
	// calls that take an item, with no lock held. Default: none, and all items are alike.
	//
	// How long an item waits: one of a group with i others ready comes, with one shard,
	// within (i/weight+1) × W Gets, where W is what the groups that have something ready
	// weigh together; with more shards, within eight times as many.
	Group func(item T) string

	// GroupLimit is how many items of one group may be in processing at once, in all of the
	// queue. What is ready beyond that is held back: it is ready, and counts in Len, but no
	// Get returns it; when a Done makes room, the group comes to the end of the line. To
	// come to its limit ends a group's turn, so a weight above the limit has no effect.
	//
	// A Get waits for what is held back, also after a shutdown began. So a Done that never
	// comes stops its whole group, if the limit is 1, and then a drain, and every Get after
	// a shutdown; and whoever gets a second item before the Done of the first may wait for
	// itself. Default: 0, no bound.
	GroupLimit int

	// GroupWeight returns how many items of a group are handed out in its turn: less than 1
	// counts as 1, and more than [MaxGroupWeight] as that. It is called in each call that
	// adds an item, with no lock held; what it said last counts. Default: 1 for each.
	GroupWeight func(group string) int

	// LowerLevelEvery lets one of so many Gets pass by the higher priorities, and hand out
	// an item of the priority that has gone without longest: so the lower ones always get
	// on, however much comes in above them. With one shard, an item that has i others of
	// its priority before it, and L priorities in use, is handed out within
	// (i+1) × L × LowerLevelEvery Gets; with N shards, within 4 × N times as many. With
	// Group, it counts what each group is handed out. Default: 0, priorities are strict,
	// and what is low may starve. See [AddOptions].Priority.
	LowerLevelEvery int

	// CancelDelayOnAdd makes an Add of a waiting item cancel its delay, as
	// controller-runtime's priority queue does. Default: false: the delay goes
	// on and adds the item again when it ends, as in client-go.
	CancelDelayOnAdd bool

	// Capacity is how many different items the queue may hold, whatever their state, for
	// those who ask for room: [Queue.TryAdd] and [Queue.AddContext]. An item that is held
	// already needs no room. The other ways to add never wait, and may exceed the
	// capacity, which is counted in Stats.Exceeded. Default: 0, no bound.
	Capacity int

	// OnWatermark is told when the number of items held has risen to HighWatermark, and
	// then when it has fallen to LowWatermark, in turn, one call at a time. A change that
	// comes and goes during a call may not be told. It runs in the goroutine of the call
	// that changed the number, with no lock held, so it may use the queue; others do not
	// wait for it. Default: none.
	//
	// The Logger is told of the two marks as well, also without OnWatermark. With
	// neither of the hooks they have no effect. Both are 0, or 0 <= low < high.
	OnWatermark                 func(Watermark)
	HighWatermark, LowWatermark int

	// Ages makes the queue note since when each item is ready, or in processing, to the
	// tick (or older, by as much as the clock's timer is late), for [Queue.Snapshot] and
	// the like, and keep the items in processing in the order in which they were handed
	// out. It costs 8 bytes for each item, and a wake-up
	// for each tick in which the queue was used. Default: false, unless there is something that
	// includes it: Metrics, OnStuck, or a StuckAfter with a Logger.
	Ages bool

	// Metrics makes the queue count retries, and measure how long items are asked for
	// before they are handed out and how long they are then in processing: [Stats].Metrics.
	// It includes Ages, and costs 8 bytes more for each item that is added while it is in
	// processing, and a KiB or two for each shard, nine at most. While fewer than some 250 calls come in a
	// millisecond, each reads the clock, and durations are exact. When there are more, several
	// share a reading: first the adds, then all. It is some dozen microseconds old as a rule, and
	// never older than a tick and what the clock's timer is late. A duration is off by as much;
	// the mean of many is right if they are long beside that.
	// Default: false, and nothing is paid.
	Metrics bool

	// OnStuck is told of each item that has been in processing for StuckAfter, once for
	// each processing, as long as the queue is not shut down (that is, also while a Drain
	// awaits what waits). It runs in the goroutine of the clock's timer, or in one of its
	// own, with no lock held, so it may use the queue, and shut it down. It must be safe
	// for concurrent use, and must not panic. [Queue.ShutDown] does not wait for a call
	// that is under way. Default: none.
	//
	// The Logger is told of the same items, also without OnStuck, if StuckAfter is more
	// than 0. With neither, StuckAfter has no effect but on the live page.
	OnStuck    func(ItemInfo[T])
	StuckAfter time.Duration

	// Logger is told of what somebody may want to look into, at these levels: Error for an
	// item that [Workers] give up and for a handler that panics; Warn for misuse, for an item
	// that is stuck (if there is a StuckAfter, also without OnStuck), and for an attempt
	// that failed, and for a drain that gave up; Info for watermarks (also without OnWatermark) and for the end of the
	// queue. Of each of these it is told at most ten at once and then one a second, with the
	// number of those that were left out as "suppressed". What an item is, it is told only with LogItems, then cut to 200
	// bytes, and with no look at what pointers lead to; the errors of handlers are told as they are. It is
	// called in the goroutine of the call that it is about, or in that of OnStuck, with no lock held. Default: none, and nothing is logged.
	Logger   *slog.Logger
	LogItems bool

	// OnMisuse is told of each call that breaks the rules and was ignored, such
	// as a second Done. It runs in the goroutine of that call, with no lock
	// held, so it may use the queue. It must be safe for concurrent use.
	// Default: misuse is only counted.
	OnMisuse func(Misuse[T])
}

// Watermark is what [Options].OnWatermark is told.
type Watermark struct {
	// Queue is the Name of the queue.
	Queue string
	// High tells that the number of items has risen to the high watermark; otherwise it
	// has fallen to the low one.
	High bool
}

// Misuse describes a call that the queue ignored because it breaks the rules.
type Misuse[T comparable] struct {
	// Queue is the Name of the queue.
	Queue string
	// Kind says which rule was broken.
	Kind MisuseKind
	// Item is the argument of the call.
	Item T
}

// MisuseKind names the rule that a call broke.
type MisuseKind = shard.Misuse

const (
	// DoneWithoutGet is a Done of an item that is not in processing: it was
	// never handed out, or its Done was called already.
	DoneWithoutGet = shard.DoneWithoutGet
	// ItemNotEqualToItself is an item such as a floating-point NaN, that no
	// look-up could find again. The queue takes none in.
	ItemNotEqualToItself = shard.ItemNotEqualToItself
)

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

// keepsAges reports whether the queue knows since when an item is in its state.
func (o Options[T]) keepsAges() bool { return o.Ages || o.Metrics || o.watchesForStuck() }

// route returns the function that routes items, or nil for the queue's own hash.
func (o Options[T]) route() func(item T) uint64 {
	if !o.StableRouting || o.Group != nil {
		return o.Hash
	}
	route, _ := shard.StableRoute[T]() // validated
	return route
}

// watermarkHook returns OnWatermark as the shards call it, or nil.
func (o Options[T]) watermarkHook(log *logbook) func(high bool) {
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
func (o Options[T]) stuckHook(log *logbook) func(ItemInfo[T]) {
	limiter, clock, hook := o.RateLimiter, o.Clock, o.OnStuck
	if !o.watchesForStuck() {
		return nil
	}
	return func(i ItemInfo[T]) {
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
func (o Options[T]) misuseHook(log *logbook) func(kind shard.Misuse, item T) {
	name, hook := o.Name, o.OnMisuse
	if hook == nil && log == nil {
		return nil
	}
	return func(kind shard.Misuse, item T) {
		if log != nil {
			log.misuse(kind, item)
		}
		if hook != nil {
			hook(Misuse[T]{Queue: name, Kind: kind, Item: item})
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
		fault("Options.Hash and Options.Group are both set: want at most one, for an item's shard follows from its group")
	}
	if o.GroupLimit < 0 {
		fault("Options.GroupLimit is %d: want 0 (no bound) or more", o.GroupLimit)
	}
	if o.Group == nil && o.GroupLimit > 0 {
		fault("Options.GroupLimit is %d: want 0 without Group", o.GroupLimit)
	}
	if o.Group == nil && o.GroupWeight != nil {
		fault("Options.GroupWeight is set: want Group with it")
	}
	if o.LowerLevelEvery < 0 || o.LowerLevelEvery > math.MaxInt32 {
		fault("Options.LowerLevelEvery is %d: want 0 (never) to %d", o.LowerLevelEvery, math.MaxInt32)
	}
	if o.Capacity < 0 {
		fault("Options.Capacity is %d: want 0 (no bound) or more", o.Capacity)
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
