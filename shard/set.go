package shard

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/internal/shared"
)

// Config says how a [Set] behaves. Package shardq documents the fields, fills in
// defaults and validates; New takes them as they are.
type Config[T comparable] struct {
	Shards           int
	Clock            clock.Clock
	Tick             time.Duration
	Route            func(item T) uint64
	CancelDelayOnAdd bool
	// Group returns the group of an item, which takes the place of Route; nil if there are
	// none. StableRouting says that its shard be the same in every process.
	Group         func(item T) string
	StableRouting bool
	// GroupWeight returns how much a group is handed out in its turn; nil is 1 each.
	GroupWeight func(group string) int
	// GroupLimit is how many items of a group may be in processing; 0 is no bound.
	GroupLimit int
	// LowerLevelEvery lets every so manieth Get pass by the higher levels; 0 none.
	LowerLevelEvery int
	// Ages asks for stamps: since when each item is ready, or in processing.
	Ages bool
	// Metrics asks for counts and durations; Ages must be set, too.
	Metrics bool
	// OnStuck is told of each item that has been in processing for StuckAfter, once
	// for each processing. It may be nil; otherwise Ages must be set.
	StuckAfter time.Duration
	OnStuck    func(Info[T])
	// Capacity bounds the items held, for those who ask for room; 0 is no bound.
	Capacity int
	// OnWatermark is told when the number of items held has come to HighWatermark, and
	// then when it has come down to LowWatermark. It may be nil.
	HighWatermark, LowWatermark int
	OnWatermark                 func(high bool)
	// OnMisuse is told of calls that were ignored. It may be nil.
	OnMisuse func(kind Misuse, item T)
}

// A Set is a work queue made of shards. All methods are safe for concurrent use.
type Set[T comparable] struct {
	seed  maphash.Seed
	route func(item T) uint64
	// group is nil if there are no groups; see there.
	group       func(item T) string
	groupRoute  func(group string) uint64
	groupWeight func(group string) int
	groupLimit  int32
	// heldBack counts the groups that are held back: see ring.
	heldBack holdCount
	// mayDiffer says that some values of T are not equal to themselves.
	mayDiffer bool
	// strings says where the strings within an item lie: see touch.
	strings          []uintptr
	cancelDelayOnAdd bool
	onMisuse         func(kind Misuse, item T)
	// shards are made when they are first used: see shard.
	shards []atomic.Pointer[shard[T]]
	// spares has chunks of entries that shards have given back.
	spares    *chunked.Spares[entry[T]]
	readyRows []readyRow
	rejected  atomic.Uint64
	// urgency says where the higher levels are; nil while there are none, or one shard.
	urgency atomic.Pointer[urgency]
	// lowerEvery says which of the Gets pass by the higher levels; 0 none.
	lowerEvery uint32

	// ids is the number of ids in a shard: maxIDs, or less in tests. crowded says that
	// a shard has come near that: see Crowded.
	ids     uint32
	crowded atomic.Bool

	// limit counts the items held. If nil, there is neither a capacity nor a
	// watermark.
	limit *itemlimit.Limiter

	closing closing
	drained drain
	// waited is done when nothing waits any more, once a Drain has asked for that.
	waited   drain
	awaiting atomic.Bool
	// emptied is done when the set is empty, once a Drain that takes retries in has
	// asked for that.
	emptied  drain
	emptying atomic.Bool
	// idled is released when a shard becomes empty for which a WaitIdle waits.
	idled     drain
	abandoned abandoned[T]
	// unreturned has what a Drain has dropped that a panic ended: the next returns it.
	unreturned abandoned[T]
	time       timebase
	driver     driver[T]
	// ages says that stamps are kept: see pulse.
	ages     bool
	watchdog watchdog[T]
	// measures has what is measured in each shard, once that is used; nil if nobody wants to
	// know.
	measures []*measures
	// inFlightAtEnd is what Metrics says of the items in processing once a shutdown has begun.
	inFlightAtEnd atomic.Pointer[inFlight]
	givenUp       atomic.Uint64
	// probe sees the holds of looks; nil but in tests.
	probe *probe

	lanes []lane
	// laneShift leaves as many bits of a word as a lane's number has.
	laneShift uint8

	_     cacheLine
	pulse pulse
	lot   lot
	_     cacheLine
}

// cacheLine keeps what stands before it and what stands after it off each other's
// cache lines. 64 bytes is right for amd64, and for arm64 but for Apple's.
type cacheLine [64]byte

// shard is one of the queues that a Set is made of. What every operation writes
// fills its first cache line. What it only reads, and what few operations write, is
// on the second: when a shard passes from one core to another, each line is a trip
// of its own. A test asserts the layout.
type shard[T comparable] struct {
	// mu guards all fields below but next and the two fixed ones.
	mu shared.Mutex[shared.Lock]
	// ready has what is ready, and counts what is in processing; nothing if there
	// are groups, because each has a run queue of its own.
	ready runQueue[T]
	count counters
	// served counts the times a consumer took from here, modulo its range.
	served uint16
	// fruitless counts the adds merged since an item was handed out, modulo its
	// range.
	fruitless uint16
	// number and set are fixed.
	number uint16
	// owes says which reports the shard owes.
	owes effects
	// tide says how large the table has been of late: see index.
	tide uint8
	// table holds the entries; nil while there have been none.
	table *table[T]
	// wheel holds the timers of waiting items, by the ids of their entries; nil
	// while there have been none.
	wheel *wheel

	// next is the tick at which the wheel wants to be advanced, never if it is
	// empty. It is written under mu and read by the driver without.
	next shared.Uint64[shared.Deadline]
	set  *Set[T]
	// groups has the groups; nil while there are none.
	groups *groups[T]

	rare rareCounters // last, since it is touched seldom: see the test of the layout
}

// New returns a Set. It starts no goroutine and sets no timer.
func New[T comparable](config Config[T]) *Set[T] {
	s := &Set[T]{
		seed:             maphash.MakeSeed(),
		route:            config.Route,
		mayDiffer:        mayDiffer[T](),
		strings:          stringsOf[T](),
		cancelDelayOnAdd: config.CancelDelayOnAdd,
		onMisuse:         config.OnMisuse,
		shards:           make([]atomic.Pointer[shard[T]], config.Shards),
		spares:           &chunked.Spares[entry[T]]{},
		readyRows:        newReadyRows(config.Shards),
		lanes:            newLanes(runtime.GOMAXPROCS(0), config.Shards),
		ages:             config.Ages,
		lowerEvery:       uint32(config.LowerLevelEvery),
		limit: itemlimit.New(int64(config.Capacity),
			int64(config.HighWatermark), int64(config.LowWatermark), config.OnWatermark),
		time: newTimebase(config.Clock, config.Tick),
		lot:  newLot(),
		ids:  maxIDs,
	}
	s.initGroups(config)
	if config.Metrics {
		s.measures = make([]*measures, config.Shards)
		s.pulse.crowd.init(s.time.tick)
	}
	s.drained.init()
	s.waited.init()
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
