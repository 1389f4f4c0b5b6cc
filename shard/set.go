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

// Config configures a [Set]. Package shardq documents the fields that it has
// as well, fills in defaults and validates. New takes the fields as they are.
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
	Rules                       Rules
}

// Rules are how a set may differ from client-go's queue. With all of them, it
// behaves as controller-runtime's priority queue does.
type Rules struct {
	// CancelDelayOnAdd makes an Add of a delayed item cancel the delay.
	CancelDelayOnAdd bool
	// DropDelayIfReady drops a delay that is requested for an item that is
	// ready or dirty: the run to come serves the call, and gets its priority at
	// once.
	DropDelayIfReady bool
	// KeepPlaces gives an item the place of the add that asked for its run, not
	// that of the moment at which it became ready: see places.
	KeepPlaces bool
	// DiscardOnShutDown makes [Set.ShutDown] drop what is ready or dirty as
	// well. A drain still waits for these items, until ShutDown is called.
	DiscardOnShutDown bool
	// PrioritiesBeforeTurns makes the groups of a shard take turns within the
	// highest priority that is ready there.
	PrioritiesBeforeTurns bool
}

// Rules returns the rules of the set.
func (s *Set[T]) Rules() Rules { return s.rules }

// SetRules replaces the rules. It must be called before the set is used.
func (s *Set[T]) SetRules(r Rules) { s.rules = r }

// A Set is a work queue made of shards. All methods are safe for concurrent
// use. A Set must not be copied.
type Set[T comparable] struct {
	config Config[T]
	rules  Rules
	seed   maphash.Seed
	route  func(item T) uint64
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
	strings []uintptr
	// adds has the adds that OnAdd has to be called for. It is nil if there is
	// no such hook.
	adds *addHook[T]
	// watches has the processings that are watched.
	watches watches
	// notifies reports that notify has something to do.
	notifies bool
	// shards are made when they are first used: see shard.
	shards []atomic.Pointer[shard[T]]
	// spares has chunks of entries that shards have given back.
	spares *chunked.Spares[entry[T]]
	// windows has those of each shard, guarded by the shard's lock. It is nil
	// until an add asks for one.
	windows   atomic.Pointer[[]*windows[T]]
	readyRows []readyRow

	rejected, misused, discarded atomic.Uint64
	// priorityBitmap shows which shards serve which priorities. It is nil while
	// all priorities are 0, and if there is one shard.
	priorityBitmap atomic.Pointer[priorityBitmap]

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
	watchdog   watchdog[T]
	// measures has the measures of each shard, once the shard is used. It is
	// nil unless metrics are kept.
	measures []*measures
	// inFlightAtEnd is what Metrics report of the items in processing once a
	// shutdown has begun.
	inFlightAtEnd atomic.Pointer[inFlight]
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
	// modulo its range. done counts the Dones: see countDone.
	fruitless, done uint8
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
		config:    config,
		rules:     config.Rules,
		seed:      maphash.MakeSeed(),
		route:     config.Route,
		mayDiffer: mayDiffer[T](),
		strings:   stringsOf[T](),
		adds:      newAddHook(config.OnAdd),
		shards:    make([]atomic.Pointer[shard[T]], config.Shards),
		spares:    &chunked.Spares[entry[T]]{},
		readyRows: newReadyRows(config.Shards),
		lanes:     newLanes(runtime.GOMAXPROCS(0), config.Shards),
		limit: itemlimit.New(int64(config.Capacity),
			int64(config.HighWatermark), int64(config.LowWatermark), config.OnWatermark),
		time:   newTimebase(config.Clock, config.Tick),
		parker: newParker(),
		ids:    maxIDs,
	}
	s.notifies = s.limit != nil || s.adds != nil
	s.initGroups()
	s.initCares()
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
