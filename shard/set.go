package shard

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/stats"
)

// Config configures a [Set]. Package shardq documents the fields, fills in
// defaults and validates. New takes the fields as they are.
type Config[T comparable] struct {
	Shards           int
	Clock            clock.Clock
	Tick             time.Duration
	Route            func(item T) uint64
	CancelDelayOnAdd bool
	// KeepPlaces, DropDelayIfReady and DiscardOnShutDown are documented in
	// package shardq.
	KeepPlaces, DropDelayIfReady, DiscardOnShutDown bool
	// OnAdd is called for each add that asked for a run or raised a priority.
	// It may be nil.
	OnAdd func(stats.Add[T])
	// Group returns the group of an item, and replaces Route. If nil, there are
	// no groups. StableRouting makes the shard of a group the same in every
	// process.
	Group         func(item T) string
	StableRouting bool
	// GroupWeight returns the number of items that a group is handed out in its
	// turn. If nil, every weight is 1.
	GroupWeight func(group string) int
	// GroupLimit limits the number of items of a group in processing. If zero,
	// there is no limit.
	GroupLimit int
	// GroupLimitOf returns the limit of a group, or 0 if GroupLimit counts. If
	// nil, GroupLimit counts for all.
	GroupLimitOf func(group string) int
	// GroupRate returns the rate at which the items of a group are handed out.
	// If nil, there are no rates.
	GroupRate func(group string) stats.Rate
	// Rate is the rate of the set: see [Set.SetRate].
	Rate stats.Rate
	// PrioritiesBeforeTurns makes groups take turns within the highest priority
	// of a shard.
	PrioritiesBeforeTurns bool
	// LowPriorityInterval makes every n-th Get serve the priority that has
	// waited longest. If zero, priorities are strict.
	LowPriorityInterval int
	// Ages keeps the moment at which each item became ready or was handed out.
	Ages bool
	// Metrics keeps counts and durations. It requires Ages.
	Metrics bool
	// The watchdog calls OnStuck for each item that has been in processing for
	// StuckAfter, once for each processing. It requires Ages. If nil, there is
	// no watchdog.
	StuckAfter time.Duration
	OnStuck    func(stats.Item[T])
	// Capacity limits the number of items held. Only TryAdd and AddContext
	// honor it. If zero, there is no limit.
	Capacity int
	// The limiter calls OnWatermark when the set holds HighWatermark items, and
	// again when it is down to LowWatermark. It may be nil.
	HighWatermark, LowWatermark int
	OnWatermark                 func(high bool)
	// The set calls OnMisuse for each call that it ignored. It may be nil.
	OnMisuse func(kind Misuse, item T)
}

// A Set is a work queue made of shards. All methods are safe for concurrent
// use. A Set must not be copied.
type Set[T comparable] struct {
	seed  maphash.Seed
	route func(item T) uint64
	// group returns the group of an item. It is nil if there are no groups.
	group        func(item T) string
	stableGroups bool // their routes are those of StableRouting
	groupWeight  func(group string) int
	groupLimit   int32
	// groupLimitOf and groupRate are as in Config.
	groupLimitOf func(group string) int
	groupRate    func(group string) stats.Rate
	// throttled counts the throttled groups: see roundRobin. pausedGroups
	// counts those of them that are paused: see mayLeave.
	throttled    throttleCount
	pausedGroups atomic.Int32
	// waits has the first tick of each shard at which a group has to be
	// reviewed, or never. It is nil without groups.
	waits []atomic.Uint64
	// cares is what takes have to do beside taking: see gate.
	cares atomic.Uint32
	gate  gate
	// mayDiffer reports that some values of T are not equal to themselves.
	mayDiffer bool
	// strings has the offsets of the strings within an item: see prefetch.
	strings          []uintptr
	cancelDelayOnAdd bool
	// keepPlaces, dropDelayIfReady and discardOnShutDown are as in Config.
	keepPlaces, dropDelayIfReady, discardOnShutDown bool
	// adds has the adds that OnAdd has to be called for. It is nil if there is
	// no such hook.
	adds *addHook[T]
	// watches has the processings that are watched.
	watches watches
	// notifies reports that notify has something to do.
	notifies bool
	onMisuse func(kind Misuse, item T)
	// shards are made when they are first used: see shard.
	shards []atomic.Pointer[shard[T]]
	// spares has chunks of entries that shards have given back.
	spares *chunked.Spares[entry[T]]
	// windows has those of each shard, guarded by the shard's lock. It is nil
	// until an add asks for one.
	windows   atomic.Pointer[[]*windows[T]]
	readyRows []readyRow
	rejected  atomic.Uint64
	// priorityBitmap shows which shards serve which priorities. It is nil while
	// all priorities are 0, and if there is one shard.
	priorityBitmap atomic.Pointer[priorityBitmap]
	// prioritiesBeforeTurns and lowPriorityInterval are as in Config.
	prioritiesBeforeTurns bool
	lowPriorityInterval   uint32

	// ids is the number of ids in a shard: maxIDs, or less in tests. crowded
	// reports that a shard has come near that: see Crowded.
	ids     uint32
	crowded atomic.Bool

	// limit counts the items held. It is nil if there is neither a capacity nor
	// a watermark.
	limit *itemlimit.Limiter

	closing closing
	drained drain
	// delaysDone is done when no item is delayed, once a Drain has asked for
	// that.
	delaysDone     drain
	awaitingDelays atomic.Bool
	// emptied is done when the set is empty, once a Drain that accepts retries
	// has asked for that.
	emptied  drain
	emptying atomic.Bool
	// idled is released when a shard becomes empty that a WaitIdle has checked.
	idled     drain
	abandoned abandoned[T]
	// unreturned has the items that a Drain dropped before it panicked. The
	// next Drain returns them.
	unreturned abandoned[T]
	time       timebase
	driver     driver[T]
	// ages is Config.Ages: see coarseClock.
	ages     bool
	watchdog watchdog[T]
	// measures has the measures of each shard, once the shard is used. It is
	// nil unless metrics are kept.
	measures []*measures
	// inFlightAtEnd is what Metrics report of the items in processing once a
	// shutdown has begun.
	inFlightAtEnd atomic.Pointer[inFlight]
	discarded     atomic.Uint64
	// probe sees the holds of inspections. It is nil except in tests.
	probe *probe

	lanes []lane
	// laneShift leaves as many bits of a word as the number of a lane has.
	laneShift uint8

	_      cacheLine
	coarse coarseClock
	parker parker
	_      cacheLine
}

// cacheLine separates the fields before it from those after it, so that they
// share no cache line. 64 bytes is right for amd64, and for arm64 except
// Apple's.
type cacheLine [64]byte

// shard is one of the queues that a Set is made of. Its first cache line has
// the fields that every operation writes. The second has those that operations
// only read, and those that few of them write. The lines move between cores one
// by one, so fewer lines cost less. A test asserts the layout.
type shard[T comparable] struct {
	// mu guards all fields except next, number and set.
	mu sync.Mutex
	// ready has the ready items, and counts those in processing. It is empty if
	// there are groups, because each group has a run queue of its own.
	ready runQueue[T]
	count counters
	// served counts the items taken from the shard, modulo its range.
	served uint16
	// fruitless counts the deduplicated adds since an item was handed out,
	// modulo its range.
	fruitless uint16
	// number and set do not change.
	number uint16
	// owes has the reports that the shard owes to drains.
	owes owed
	// peak is how large the table has been: see index.
	peak uint8
	// table holds the entries. It is nil until there is one, and again after
	// its storage was given back.
	table *table[T]
	// wheel holds the timers of delayed items, by the ids of their entries. It
	// is nil until there is one.
	wheel *wheel

	// next is the tick at which the wheel has to be advanced, or never. It is
	// written under mu, and the driver reads it without.
	next atomic.Uint64
	set  *Set[T]
	// groups has the groups. It is nil until there is one.
	groups *groups[T]

	rare rareCounters // last, because it is rarely used: see the test of the layout
}

// New returns a Set. It starts no goroutine and sets no timer.
func New[T comparable](config Config[T]) *Set[T] {
	s := &Set[T]{
		seed:                maphash.MakeSeed(),
		route:               config.Route,
		mayDiffer:           mayDiffer[T](),
		strings:             stringsOf[T](),
		cancelDelayOnAdd:    config.CancelDelayOnAdd,
		keepPlaces:          config.KeepPlaces,
		dropDelayIfReady:    config.DropDelayIfReady,
		discardOnShutDown:   config.DiscardOnShutDown,
		adds:                newAddHook(config.OnAdd),
		onMisuse:            config.OnMisuse,
		shards:              make([]atomic.Pointer[shard[T]], config.Shards),
		spares:              &chunked.Spares[entry[T]]{},
		readyRows:           newReadyRows(config.Shards),
		lanes:               newLanes(runtime.GOMAXPROCS(0), config.Shards),
		ages:                config.Ages,
		lowPriorityInterval: uint32(config.LowPriorityInterval),

		prioritiesBeforeTurns: config.PrioritiesBeforeTurns,
		limit: itemlimit.New(int64(config.Capacity),
			int64(config.HighWatermark), int64(config.LowWatermark), config.OnWatermark),
		time:   newTimebase(config.Clock, config.Tick),
		parker: newParker(),
		ids:    maxIDs,
	}
	s.notifies = s.limit != nil || s.adds != nil
	s.initGroups(config)
	s.initCares(config)
	if config.Metrics {
		s.measures = make([]*measures, config.Shards)
		s.coarse.sampler.init(s.time.tick)
	}
	s.drained.init()
	s.delaysDone.init()
	s.emptied.init()
	s.idled.init()
	s.watchdog.next.Store(never)
	if config.OnStuck != nil {
		s.watchdog.init(config.OnStuck, s.time.ticks(config.StuckAfter))
	}
	s.driver.init(s)
	s.laneShift = uint8(64 - bits.TrailingZeros(uint(len(s.lanes))))
	return s
}
