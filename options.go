package shardq

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// MaxShards is the largest number of shards that a queue can have.
const MaxShards = 4096

// DefaultTick is the resolution of delays when [Options].Tick is zero.
const DefaultTick = time.Millisecond

// Options configure a [Queue]. The zero Options is a complete queue. [New]
// reads them once, keeps no reference to the struct, and does not modify it.
//
// Functions and hooks are called with no lock held, may use the queue, and must
// be safe for concurrent use. Most calls that take an item call Hash or Group
// once. [New] says when the queue calls no hooks any more.
type Options[T comparable] struct {
	// # Everyday

	// Name labels the queue in logs, metrics, hooks and pages. It need not be
	// unique.
	Name string

	// Shards is the number of independent shards, 1 to [MaxShards]. One shard
	// hands items out strictly in the order in which they became ready, as
	// client-go does. More shards relax the order between items, never the
	// promises, and let goroutines work side by side.
	//
	// If zero, it grows with GOMAXPROCS: 16 shards for one processor, 32 for
	// two to eight, and at most 256.
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
	// their ticks. Finer ticks cost more wake-ups.
	//
	// If zero, it is [DefaultTick].
	Tick time.Duration

	// Capacity limits the number of distinct items held, in any state. Only
	// [Queue.TryAdd] and [Queue.AddContext] honor it. Other adds always
	// succeed, and are counted in Stats.OverCapacity when they exceed it. An
	// item that is held already needs no room.
	//
	// If zero, there is no limit.
	Capacity int

	// Watermarks report when the queue is filling, and when it has emptied.
	Watermarks Watermarks

	// # Order and groups

	// Hash chooses an item's shard, in place of the queue's own seeded hash.
	// Items with the same hash share a shard. Equal items must have equal
	// hashes. A poor Hash makes the load uneven, but no operation slow.
	Hash func(item T) uint64

	// StableRouting chooses an item's shard by an unseeded xxhash of the item's
	// value, so that it is the same in every process with the same number of
	// shards. T must consist of strings, booleans, integers, and arrays and
	// structs of them, unless there is a Group. A party that chooses the items
	// can then choose their shard.
	StableRouting bool

	// Group returns the group of an item, such as its tenant:
	//
	//	Group: func(item Key) string { return item.Tenant }
	//
	// Groups take turns by a weighted round robin. Within a group, items come
	// by priority and then in order. All items of a group share a shard, which
	// the group's name chooses, so that Hash must be nil. A group costs memory
	// while it has items, and nothing afterwards.
	//
	// Equal items must have equal groups at all times, or one may be handed out
	// twice, and a drain may wait forever.
	Group func(item T) string

	// GroupPolicy returns the weight, the limit and the rate of a group. Each
	// call that adds an item asks it. The latest result counts from the next
	// item on. [Queue.RefreshGroup] applies a change at once.
	//
	// A group at its limit, or whose rate allows no item, is throttled: its
	// ready items count in Len, but no Get returns them, and no worker is held.
	// Gets and drains wait for throttled items, also after a shutdown has
	// begun. So a Done that is never called may stop its whole group. A fault
	// of the rate panics in the caller, before anything has changed.
	//
	// If nil, groups have the weight 1, and neither limits nor rates.
	GroupPolicy func(group string) GroupPolicy

	// Rate is the rate at which the queue hands out items, those of all groups
	// together. [Queue.SetRate] changes it. A Get that the rate does not allow
	// yet parks, also after a shutdown has begun.
	//
	// If zero, there is no limit.
	Rate Rate

	// LowPriorityInterval makes every n-th Get serve the priority that has
	// waited longest, so that low priorities make progress however many items
	// of higher ones are added. With Group, it counts the Gets of each group.
	//
	// If zero, priorities are strict and low ones may starve.
	LowPriorityInterval int

	// # Hooks

	// The queue calls OnAdd when an item is in line for a run, has its priority
	// raised there, or leaves the line without a Get: see [stats.Add]. OnAdd
	// runs in the goroutine of the call, of another call at the same time, or of
	// the clock's timer, where a panic ends the program.
	OnAdd func(stats.Add[T])

	// The queue calls OnMisuse for each call that breaks the rules and was
	// ignored, such as a second Done, in the goroutine of that call.
	//
	// If nil, misuse is only counted.
	OnMisuse func(Misuse[T])

	// The queue calls OnStuck for each item that has been in processing for
	// StuckAfter, once for each processing, unless the queue is shut down.
	// OnStuck runs in the goroutine of the clock's timer, or in one of its own,
	// and must not panic. [Queue.ShutDown] does not wait for a call that is in
	// progress.
	//
	// With StuckAfter, the Logger logs the same items, also without OnStuck.
	OnStuck    func(stats.Item[T])
	StuckAfter time.Duration

	// Logger gets the events that an operator may want to look into: discards
	// and panics as errors; misuse, stuck items, failed attempts and drains that
	// ended early as warnings; watermarks and the end of the queue as infos. An
	// outage has a few lines in place of one for each failure. At most ten lines
	// of each kind are written at once, and then one a second. A line names no
	// item unless LogItems is set. Errors of handlers are written as they are.
	//
	// If nil, nothing is logged.
	Logger   *slog.Logger
	LogItems bool

	// # Metrics

	// Ages makes the queue record since when each item is ready or in
	// processing, to the tick, for [Queue.Snapshot] and the like. It costs 8
	// bytes for each item, and a wake-up for each tick in which the queue was
	// used. Metrics, OnStuck, and a StuckAfter with a Logger include it.
	Ages bool

	// Metrics makes the queue count retries and the attempts of workers, and
	// measure how long items wait and how long they are in processing: see
	// [stats.Metrics]. It includes Ages, and costs up to nine KiB for each
	// shard. docs/guide/observing.md says how exact durations are.
	Metrics bool
}

// Watermarks report the number of items held: see [Options].Watermarks. Either
// High and Low are both 0, or 0 <= Low < High.
type Watermarks struct {
	High, Low int
	// The queue calls On when it holds High items, and again when it is down to
	// Low. Calls alternate and never overlap. A crossing that reverses during a
	// call may be skipped. On runs in the goroutine of the call that changed
	// the number. Other calls do not wait for it. The Logger logs both marks as
	// well, also without On.
	On func(Watermark)
}

// A Watermark is the argument of [Watermarks].On.
type Watermark struct {
	// Queue is the name of the queue.
	Queue string
	// High reports that the number of items has risen to the high watermark.
	// Otherwise it has fallen to the low one.
	High bool
}

// Misuse describes a call that the queue ignored because it breaks the rules.
type Misuse[T comparable] = stats.Misuse[T]

// The kinds of misuse: [stats.MisuseKind] describes them.
const (
	DoneWithoutGet       = stats.DoneWithoutGet
	ItemNotEqualToItself = stats.ItemNotEqualToItself
)

// engine returns the options as the shards take them.
func (o Options[T]) engine(log *eventLog) shard.Config[T] {
	return shard.Config[T]{
		Shards: o.Shards, Clock: o.Clock, Tick: o.Tick, Capacity: o.Capacity,
		HighWatermark: o.Watermarks.High, LowWatermark: o.Watermarks.Low, OnWatermark: o.watermarkHook(log),
		Route: o.route(), StableRouting: o.StableRouting,
		Group: o.Group, GroupPolicy: o.GroupPolicy, Rate: o.Rate, LowPriorityInterval: o.LowPriorityInterval,
		OnAdd: o.OnAdd, OnMisuse: o.misuseHook(log), StuckAfter: o.StuckAfter, OnStuck: o.stuckHook(log),
		Ages: o.keepsAges(), Metrics: o.Metrics,
	}
}

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

// watermarkHook returns Watermarks.On as the shards call it, or nil.
func (o Options[T]) watermarkHook(log *eventLog) func(high bool) {
	name, hook := o.Name, o.Watermarks.On
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
	return o.Watermarks.On != nil || o.Logger != nil && o.Watermarks.High != 0
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
func (o Options[T]) misuseHook(log *eventLog) func(kind stats.MisuseKind, item T) {
	name, hook := o.Name, o.OnMisuse
	if hook == nil && log == nil {
		return nil
	}
	return func(kind stats.MisuseKind, item T) {
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
		fault("Options.Hash and Options.Group are both set: want at most one, because an item's group chooses its shard")
	}
	if o.Group == nil && o.GroupPolicy != nil {
		fault("Options.GroupPolicy is set: want it with Group")
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
	if m := o.Watermarks; (m.High != 0 || m.Low != 0 || m.On != nil) && !(0 <= m.Low && m.Low < m.High) {
		fault("Options.Watermarks has Low %d and High %d: want 0 <= Low < High", m.Low, m.High)
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

// configuration describes options whose defaults are filled in.
func (o Options[T]) configuration() stats.Configuration {
	routing := "seeded hash"
	switch {
	case o.Group != nil:
		routing = "group"
	case o.StableRouting:
		routing = "stable hash"
	case o.Hash != nil:
		routing = "hash function"
	}
	clockType := fmt.Sprintf("%T", o.Clock)
	if o.Clock == clock.Real() {
		clockType = "real"
	}
	return stats.Configuration{
		Name: o.Name, Item: reflect.TypeFor[T]().String(),
		Shards: o.Shards, Capacity: o.Capacity, LowPriorityInterval: o.LowPriorityInterval,
		Tick: o.Tick, StuckAfter: o.StuckAfter, Routing: routing,
		Groups: o.Group != nil, Ages: o.keepsAges(), Metrics: o.Metrics,
		Limiter: fmt.Sprintf("%T", o.RateLimiter), Clock: clockType, Created: time.Now(),
	}
}
