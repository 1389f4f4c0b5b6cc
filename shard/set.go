package shard

import (
	"context"
	"hash/maphash"
	"iter"
	"math/bits"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard/internal/ticks"
	"github.com/shardq/shardq/stats"
)

// Config configures a [Set]. Package shardq documents and validates the fields.
type Config[T comparable] struct {
	Shards              int
	Clock               clock.Clock
	Tick                time.Duration
	Route               func(item T) uint64 // nil: the seeded hash
	Group               func(item T) string // replaces Route
	GroupPolicy         func(group string) stats.GroupPolicy
	StableRouting       bool // of groups
	Rate                stats.Rate
	LowPriorityInterval int
	OnAdd               func(stats.Add[T])
	// Metrics and OnStuck require Ages.
	Ages, Metrics               bool
	StuckAfter                  time.Duration
	OnStuck                     func(stats.Item[T])
	Capacity                    int
	HighWatermark, LowWatermark int
	OnWatermark                 func(high bool)
	OnMisuse                    func(kind stats.MisuseKind, item T)
	KeepBackoff                 bool
	Rules                       Rules
}

// Rules are how a set may differ from client-go's queue.
type Rules struct {
	CancelDelayOnAdd bool // an Add of a delayed item cancels the delay
	DropDelayIfReady bool // the run to come of a ready or dirty item serves a delayed add
	KeepPlaces       bool // items keep the place of the add that asked for the run: see places
	// DiscardOnShutDown makes ShutDown drop what is ready or dirty.
	DiscardOnShutDown     bool
	PrioritiesBeforeTurns bool // groups take turns within the highest ready priority
}

// settings are the part of a Config that touches no item.
type settings struct {
	Shards                      int
	Clock                       clock.Clock
	Tick                        time.Duration
	grouped                     bool
	GroupPolicy                 func(group string) stats.GroupPolicy
	StableRouting               bool
	Rate                        stats.Rate
	LowPriorityInterval         int
	hearsAdds, hearsStuck       bool
	Ages, Metrics, KeepBackoff  bool
	StuckAfter                  time.Duration
	Capacity                    int
	HighWatermark, LowWatermark int
	OnWatermark                 func(high bool)
	rules                       Rules
}

func settingsOf[T comparable](c Config[T]) settings {
	return settings{
		Shards: c.Shards, Clock: c.Clock, Tick: c.Tick, grouped: c.Group != nil, GroupPolicy: c.GroupPolicy,
		StableRouting: c.StableRouting, Rate: c.Rate, LowPriorityInterval: c.LowPriorityInterval,
		hearsAdds: c.OnAdd != nil, hearsStuck: c.OnStuck != nil,
		Ages: c.Ages, Metrics: c.Metrics, KeepBackoff: c.KeepBackoff, StuckAfter: c.StuckAfter,
		Capacity: c.Capacity, HighWatermark: c.HighWatermark, LowWatermark: c.LowWatermark, OnWatermark: c.OnWatermark,
		rules: c.Rules,
	}
}

// hooks carries the events of a Core up to its Set.
type hooks[T comparable] struct{ set *Set[T] }

// above gets the events of a Core that touch items.
type above interface {
	keepAdd(e *entry, a stats.Add[struct{}])
	keepStuck(sh *shard, id uint32)
	closeStuck()
	hasReports() bool
	sendAdds()
	reportStuck()
	abandoning() dropping
}

// A dropping gets the entries of delayed items that an end drops, and hands their
// items on in keep, with no lock held.
type dropping interface {
	drop(e *entry)
	keep()
}

// SetRules replaces the rules. It must be called before the set is used.
func (s *Core) SetRules(r Rules) { s.rules = r }

// A Set is a work queue made of shards, safe for concurrent use.
type Set[T comparable] struct {
	Core       *Core
	user       Config[T]
	route      func(item T) uint64
	mayDiffer  bool                  // some values of T are not equal to themselves
	adds       *addHook[T]           // the calls of OnAdd that are due, or nil without that hook
	stuck      outbox[stats.Item[T]] // the calls of OnStuck that are due, until a shutdown begins
	abandoned  abandoned[T]
	unreturned abandoned[T] // dropped by a Drain before it panicked, returned by the next
}

// A Core is what a Set has that touches no item. So it is compiled once, and not
// again for each type of items in each program. It is no embedded field, because
// the compiler would make wrappers of all its methods for each type.
type Core struct {
	config       settings
	above        above
	rules        Rules
	seed         maphash.Seed
	throttled    throttleCount // see roundRobin; pausedGroups are the paused ones of them: see mayLeave
	pausedGroups atomic.Int32
	waits        []atomic.Uint64 // when each shard has to review a group, or never; nil without groups
	cares        atomic.Uint32   // what takes have to do beside taking: see gate
	gate         gate
	strings      []uintptr // the offsets of the strings within an item: see prefetch
	watches      watches
	notifies     bool                       // notify has something to do
	shards       []atomic.Pointer[shard]    // made when they are first used: see shard
	tokens       atomic.Pointer[[]token]    // for the parkers of each shard's lock: see lockWord
	items        *itemType                  // of the tables of the shards
	names        *itemType                  // of the names of groups
	windows      atomic.Pointer[[]*windows] // of each shard, guarded by its lock, once an add asks for one
	readyRows    []readyRow

	rejected, misused, discarded atomic.Uint64
	priorityBitmap               atomic.Pointer[priorityBitmap] // nil while all priorities are 0, and for one shard

	ids     uint32 // the number of ids in a shard: maxIDs, or less in tests
	crowded atomic.Bool

	limit *itemlimit.Limiter // nil without a capacity and a watermark

	closing        closing
	drained        drain
	delaysDone     drain // no item is delayed, once a Drain has asked for that
	awaitingDelays atomic.Bool
	emptied        drain // the set is empty, once a Drain that accepts retries has asked
	emptying       atomic.Bool
	idled          drain // a shard became empty that a WaitIdle has checked
	stilled        drain // a shard came to a halt, or what can be handed out has changed
	time           ticks.Base
	driver         driver
	watchdog       watchdog
	measures       []*measures              // of each shard, once it is used; nil without metrics
	inFlightAtEnd  atomic.Pointer[inFlight] // what Metrics report once a shutdown has begun
	probe          *probe                   // sees the holds of inspections, in tests

	lanes     []lane
	laneShift uint8 // leaves as many bits of a word as the number of a lane has

	_      cacheLine
	coarse ticks.Coarse
	parker parker
	_      cacheLine
}

// cacheLine keeps the fields before it and after it on different cache lines.
// 64 bytes is right for amd64, and for arm64 except Apple's.
type cacheLine [64]byte

// shard's first cache line has the fields that every operation writes, the
// second those that operations only read, or few of them write. Lines move
// between cores one by one, so fewer cost less. A test asserts the layout.
type shard struct {
	mu              lockWord // guards all fields except next, number and set
	ready           runQueue // counts those in processing, too; unused with groups, which have their own
	count           counters
	served          uint16 // the items taken from the shard, modulo its range
	fruitless, done uint8  // deduplicated adds since a hand-out, modulo its range; for done see countDone
	number          uint16 // this and set do not change
	owes            owed   // the reports that the shard owes to drains
	peak            uint8  // how large the table has been: see index
	table           *table // nil if there are no entries and its storage was given back
	wheel           *wheel // the timers by the ids of entries, or nil until there is one

	next   atomic.Uint64 // when the wheel has to be advanced, or never; written under mu, read without
	set    *Core
	groups *groups // nil until there is one

	rare rareCounters // last, because it is rarely used: see the test of the layout
}

// New returns a Set. It starts no goroutine and sets no timer.
func New[T comparable](config Config[T]) *Set[T] {
	s := &Set[T]{
		user:      config,
		route:     config.Route,
		mayDiffer: mayDiffer(reflect.TypeFor[T]()),
		adds:      newAddHook(config.OnAdd),
	}
	if config.Group != nil {
		s.route = func(item T) uint64 { return s.Core.groupRoute(config.Group(item)) }
	}
	s.Core = newCore(settingsOf(config), hooks[T]{s})
	s.Core.items, s.Core.strings = itemTypeOf[T](), appendStrings(nil, reflect.TypeFor[T](), 0)
	return s
}

func newCore(config settings, above above) (s *Core) {
	s = &Core{
		config:    config,
		rules:     config.rules,
		above:     above,
		seed:      maphash.MakeSeed(),
		shards:    make([]atomic.Pointer[shard], config.Shards),
		names:     itemTypeOf[string](),
		readyRows: make([]readyRow, (config.Shards+rowBits-1)/rowBits),
		lanes:     newLanes(runtime.GOMAXPROCS(0), config.Shards),
		limit: itemlimit.New(int64(config.Capacity),
			int64(config.HighWatermark), int64(config.LowWatermark), config.OnWatermark),
		time:   ticks.New(config.Clock, config.Tick),
		parker: parker{token: make(chan struct{}, 1)},
		ids:    maxIDs,
	}
	s.notifies = s.limit != nil || config.hearsAdds
	s.initGroups()
	s.initCares()
	if config.Metrics {
		s.measures = make([]*measures, config.Shards)
		s.coarse.Sampler.Init(s.time.Tick)
	}
	for _, d := range []*drain{&s.drained, &s.delaysDone, &s.emptied, &s.idled, &s.stilled} {
		d.init()
	}
	s.closing.ending, s.closing.end = context.WithCancel(context.Background())
	s.watchdog.next.Store(never)
	if config.hearsStuck {
		s.watchdog.after = s.time.Ticks(config.StuckAfter) + 1 // an item may be almost a tick younger than its stamp
	}
	s.driver.init(s)
	s.laneShift = uint8(64 - bits.TrailingZeros(uint(len(s.lanes))))
	return s
}

// A shard is made when its first item comes. Whoever changes a word that all
// shards obey, such as closing.refusing, may skip those that do not exist.
// Whoever makes one reads that word later still, under the shard's lock.

// MaxShards is the largest number of shards of a [Set].
const MaxShards = 4096

// DefaultShards returns a power of two that suits the machine.
func DefaultShards() int { return defaultShards(runtime.GOMAXPROCS(0)) }

func defaultShards(processors int) int {
	return ceilPowerOfTwo(min(max(min(16*processors, 32), 4*processors), 256))
}

func ceilPowerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

func (s *Core) shard(number int) *shard {
	if sh := s.shards[number].Load(); sh != nil {
		return sh
	}
	return s.makeShard(number)
}

func (s *Core) makeShard(number int) *shard {
	sh := &shard{set: s, number: uint16(number)}
	sh.next.Store(never)
	if !s.shards[number].CompareAndSwap(nil, sh) {
		return s.shards[number].Load()
	}
	return sh
}

func (s *Core) made() iter.Seq[*shard] {
	return func(yield func(*shard) bool) {
		for i := range s.shards {
			if sh := s.shards[i].Load(); sh != nil && !yield(sh) {
				return
			}
		}
	}
}
