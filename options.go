package shardq

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/stableroute"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

const (
	// MaxShards is the largest number of shards that a queue can have.
	MaxShards = 4096
	// DefaultTick is the resolution of delays when [Options].Tick is zero.
	DefaultTick = time.Millisecond
)

// Options configure a [Queue]. The zero Options is a complete queue. [New]
// reads them once, and does not modify them. They are:
//
//   - everyday: Name, Shards, RateLimiter, KeepBackoff, Clock, Tick, Capacity,
//     Watermarks;
//   - order and groups: Hash, StableRouting, Group, GroupPolicy, Rate,
//     LowPriorityInterval;
//   - hooks: OnAdd, OnMisuse, OnStuck, Logger;
//   - metrics: Ages, Metrics.
//
// Functions and hooks are called with no lock held, may use the queue, and must
// be safe for concurrent use. Most calls that take an item call Hash or Group
// once.
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
	// If zero, there are 16 to 256 shards, by GOMAXPROCS, or one in queues of
	// package kubernetes.
	Shards int

	// RateLimiter computes the delays of AddRateLimited, and counts the
	// failures of items. Queues whose items may be equal must not share a
	// limiter: a success in one queue would end the backoff in the other.
	//
	// If nil, it is a backoff for each item that starts at 5 ms and doubles
	// with each requeue up to 1000 s.
	RateLimiter limiter.Limiter[T]

	// KeepBackoff makes an item that has failed wait until its backoff ends,
	// even if it is added meanwhile. One run serves these adds when the backoff
	// ends: after its time, or by a success, [Queue.Forget], an operator's
	// RetryNow, or a shutdown. It is for items whose own failure adds them
	// again, for example by a status update. By default an add makes the item
	// ready at once, as in client-go. A Coalescer has PutEndsBackoff instead.
	KeepBackoff bool

	// Clock is the queue's source of time. If nil, it is [clock.Real].
	Clock clock.Clock

	// Tick is the resolution of delays. A delay expires at the first tick at or
	// after its deadline, so never early. Finer ticks cost more wake-ups.
	//
	// If zero, it is [DefaultTick].
	Tick time.Duration

	// Capacity limits the number of distinct items held, in any state. Only
	// [Queue.TryAdd] and, outside handlers, [Queue.AddContext] honor it. Other
	// adds succeed, and Stats.OverCapacity counts those that exceed it.
	//
	// If zero, there is no limit.
	Capacity int

	// Watermarks report when the queue is filling, and when it has emptied.
	Watermarks Watermarks

	// # Order and groups

	// Hash chooses an item's shard, in place of the queue's own seeded hash.
	// Equal items must have equal hashes.
	Hash func(item T) uint64

	// StableRouting chooses an item's shard by an unseeded xxhash of its value,
	// so that it is the same in every process with the same number of shards. T
	// must consist of strings, booleans, integers, and arrays and structs of
	// them, unless there is a Group. Whoever chooses the items can then choose
	// their shard.
	StableRouting bool

	// Group returns the group of an item, such as its tenant:
	//
	//	Group: func(item Key) string { return item.Tenant }
	//
	// Groups take turns by a weighted round robin. Within a group, items come
	// by priority and then in order. All items of a group share a shard, so
	// Hash must be nil. Equal items must have equal groups at all times, or
	// one may be handed out twice, and a drain may wait forever.
	Group func(item T) string

	// GroupPolicy returns the weight, the limit and the rate of a group. It is
	// called at each add of an item. [Queue.RefreshGroup] applies a change at
	// once. A group at its limit, or whose rate allows no item, is throttled:
	// its items stay ready, and no worker is held. Gets and drains wait for
	// them, so a Done that is never called may stop its whole group.
	//
	// If nil, groups have the weight 1, and neither limits nor rates.
	GroupPolicy func(group string) GroupPolicy

	// Rate is the rate at which the queue hands out items, those of all groups
	// together. [Queue.SetRate] changes it. A Get that the rate does not allow
	// yet parks, also after a shutdown has begun.
	//
	// If zero, there is no limit.
	Rate Rate

	// LowPriorityInterval makes every n-th Get of each group serve the priority
	// that has waited longest, so that low priorities make progress.
	//
	// If zero, priorities are strict and low ones may starve.
	LowPriorityInterval int

	// # Hooks

	// The queue calls OnAdd when an item gets in line for a run, has its
	// priority raised in the line, or leaves the line without a Get. OnAdd runs
	// in the goroutine of a call, or of the clock's timer, where a panic ends
	// the program.
	OnAdd func(stats.Add[T])

	// The queue calls OnMisuse for each call that breaks the rules and was
	// ignored, such as a second Done, in the goroutine of that call.
	OnMisuse func(Misuse[T])

	// The queue calls OnStuck once for each processing that has taken
	// StuckAfter, unless the queue is shut down. OnStuck runs in the goroutine
	// of the clock's timer, or in one of its own, and must not panic. The Logger
	// logs the same items, also without OnStuck.
	OnStuck    func(stats.Item[T])
	StuckAfter time.Duration

	// Logger gets the events that an operator may want to look into, such as
	// failures and discards, at most ten of each kind at once, and then one a
	// second. The lines of discards and of stuck items have at most 200 bytes of the
	// item. Other lines have none without LogItems. Errors have at most 512 bytes.
	Logger   *slog.Logger
	LogItems bool

	// # Metrics

	// Ages makes the queue record when each item became ready or was handed
	// out, to the tick, for [Queue.Snapshot] and the like. It costs 8 bytes for
	// each item, and wake-ups. Metrics, OnStuck, and a StuckAfter with a Logger
	// turn it on.
	Ages bool

	// Metrics makes the queue count retries and the attempts of workers, and
	// measure how long items wait and how long they are in processing: see
	// [stats.Metrics]. It includes Ages, and costs up to nine KiB for each
	// shard.
	Metrics bool
}

// Watermarks report the number of items held: see [Options].Watermarks. Either
// High and Low are both 0, or 0 <= Low < High.
type Watermarks struct {
	High, Low int
	// The queue calls On when it holds High items, and again when it is down to
	// Low, in the goroutine of the call that changed the number. Calls
	// alternate and never overlap: if the number crosses a watermark and comes
	// back while On runs, On need not be called again. The Logger logs both
	// watermarks as well, also without On.
	On func(Watermark)
}

// A Watermark is the argument of [Watermarks].On.
type Watermark struct {
	Queue string // the name of the queue
	High  bool   // risen to the high watermark, or else fallen to the low one
}

// Misuse describes a call that the queue ignored because it breaks the rules.
type Misuse[T comparable] = stats.Misuse[T]

// The kinds of misuse: [stats.MisuseKind] describes them.
const (
	DoneWithoutGet       = stats.DoneWithoutGet
	ItemNotEqualToItself = stats.ItemNotEqualToItself
)

// settingsOf returns the options that touch no item.
func settingsOf[T comparable](o *Options[T]) shard.Settings {
	return shard.Settings{
		Shards:              o.Shards,
		Clock:               o.Clock,
		Tick:                o.Tick,
		Capacity:            o.Capacity,
		HighWatermark:       o.Watermarks.High,
		LowWatermark:        o.Watermarks.Low,
		StableRouting:       o.StableRouting,
		GroupPolicy:         o.GroupPolicy,
		Rate:                o.Rate,
		LowPriorityInterval: o.LowPriorityInterval,
		KeepBackoff:         o.KeepBackoff,
		StuckAfter:          o.StuckAfter,
		Ages:                o.Ages || o.Metrics || watchesForStuck(o),
		Metrics:             o.Metrics,
	}
}

// given says which functions the options have.
type given struct {
	hash, group, onWatermark, onStuck bool
	unroutable                        error // of StableRouting
}

func givenOf[T comparable](o *Options[T]) given {
	g := given{hash: o.Hash != nil, group: o.Group != nil, onWatermark: o.Watermarks.On != nil, onStuck: o.OnStuck != nil}
	if o.StableRouting && !g.group {
		_, g.unroutable = stableroute.Of[T]()
	}
	return g
}

// routeOf returns the function that chooses an item's shard, or nil for the
// queue's own hash.
func routeOf[T comparable](o *Options[T]) func(item T) uint64 {
	if !o.StableRouting || o.Group != nil {
		return o.Hash
	}
	route, _ := stableroute.Of[T]() // validated
	return route
}

// watermarkHook is as the shards call it, or nil. So are the other hooks.
func watermarkHook(name string, marks Watermarks, log *eventLog) func(high bool) {
	if marks.On == nil && (log == nil || marks.High == 0) {
		return nil
	}
	return func(high bool) {
		log.watermark(high)
		if marks.On != nil {
			marks.On(Watermark{Queue: name, High: high})
		}
	}
}

func watchesForStuck[T comparable](o *Options[T]) bool {
	return o.OnStuck != nil || o.Logger != nil && o.StuckAfter > 0
}

func stuckHook[T comparable](o *Options[T], b *base) func(stats.Item[any]) {
	hook := o.OnStuck
	if !watchesForStuck(o) {
		return nil
	}
	return func(row stats.Item[any]) {
		b.stuck(&row)
		if hook != nil {
			hook(typedRow(&row, itemOf[T](row.Item)))
		}
	}
}

func misuseHook[T comparable](queue string, log *eventLog, hook func(Misuse[T])) func(kind stats.MisuseKind, item T) {
	if hook == nil && log == nil {
		return nil
	}
	return func(kind stats.MisuseKind, item T) {
		if log != nil {
			log.misuse(kind, item)
		}
		if hook != nil {
			hook(Misuse[T]{Queue: queue, Kind: kind, Item: item})
		}
	}
}

// validate has no type parameter, and is compiled once. So are the others here.
func validate(s *shard.Settings, g given) error {
	var faults []error
	fault := func(is bool, format string, arguments ...any) {
		if is {
			faults = append(faults, fmt.Errorf("shardq: Options."+format, arguments...))
		}
	}
	rate, high, low := s.Rate.Validate(), s.HighWatermark, s.LowWatermark
	fault(s.Shards < 0 || s.Shards > MaxShards, "Shards is %d: want 0 (the default) to %d", s.Shards, MaxShards)
	fault(s.Tick < 0, "Tick is %v: want 0 (the default) or more", s.Tick)
	fault(g.hash && s.StableRouting, "Hash and Options.StableRouting are both set: want at most one")
	fault(g.hash && g.group,
		"Hash and Options.Group are both set: want at most one, because an item's group chooses its shard")
	fault(!g.group && s.GroupPolicy != nil, "GroupPolicy is set: want it with Group")
	fault(rate != nil, "Rate: %w", rate)
	fault(s.LowPriorityInterval < 0 || s.LowPriorityInterval > math.MaxInt32,
		"LowPriorityInterval is %d: want 0 (never) to %d", s.LowPriorityInterval, math.MaxInt32)
	fault(s.Capacity < 0, "Capacity is %d: want 0 (no limit) or more", s.Capacity)
	fault((high != 0 || low != 0 || g.onWatermark) && !(0 <= low && low < high),
		"Watermarks has Low %d and High %d: want 0 <= Low < High", low, high)
	fault(g.onStuck && s.StuckAfter <= 0, "StuckAfter is %v: want more than 0 with OnStuck", s.StuckAfter)
	fault(!g.onStuck && s.StuckAfter < 0, "StuckAfter is %v: want 0 (never) or more", s.StuckAfter)
	fault(s.StuckAfter > 0 && !s.Ages, "StuckAfter is %v: want it with OnStuck, Logger, Metrics or Ages", s.StuckAfter)
	fault(g.unroutable != nil, "StableRouting: %w", g.unroutable)
	return errors.Join(faults...)
}

func fillIn(s *shard.Settings) {
	s.Shards, s.Tick = cmp.Or(s.Shards, shard.DefaultShards(runtime.GOMAXPROCS(0))), cmp.Or(s.Tick, DefaultTick)
	if s.Clock == nil {
		s.Clock = clock.Real()
	}
}

// configuration describes settings that are filled in, but for the types and the name.
func configuration(s *shard.Settings, g given) stats.Configuration {
	routing := "seeded hash"
	switch {
	case g.group:
		routing = "group"
	case s.StableRouting:
		routing = "stable hash"
	case g.hash:
		routing = "hash function"
	}
	clockType := fmt.Sprintf("%T", s.Clock)
	if s.Clock == clock.Real() {
		clockType = "real"
	}
	return stats.Configuration{
		Shards: s.Shards, Capacity: s.Capacity, LowPriorityInterval: s.LowPriorityInterval,
		Tick: s.Tick, StuckAfter: s.StuckAfter, Routing: routing,
		Groups: g.group, Ages: s.Ages, Metrics: s.Metrics,
		Clock: clockType, Created: time.Now(),
	}
}
