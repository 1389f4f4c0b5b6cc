package shard

import (
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/timerwheel"
)

// MaxShards is the largest number of shards of a [Set].
const MaxShards = 4096

// DefaultShards returns the number of shards that suits the machine: sixteen for
// each processor that Go may use, as a power of two, and at most 32, which keeps a
// new queue within 8 KiB. docs/decisions has the measurements.
func DefaultShards() int {
	shards := 1
	for shards < 16*runtime.GOMAXPROCS(0) && shards < 32 {
		shards *= 2
	}
	return shards
}

// Config says how a [Set] behaves. Package shardq documents the fields, fills in
// defaults and validates; New takes them as they are.
type Config[T comparable] struct {
	Shards           int
	Clock            clock.Clock
	Tick             time.Duration
	Route            func(item T) uint64
	CancelDelayOnAdd bool
	// OnMisuse is told of calls that were ignored. It may be nil.
	OnMisuse func(kind Misuse, item T)
}

// A Set is a work queue made of shards. All methods are safe for concurrent use.
type Set[T comparable] struct {
	seed  maphash.Seed
	route func(item T) uint64
	// mayDiffer says that some values of T are not equal to themselves.
	mayDiffer        bool
	cancelDelayOnAdd bool
	onMisuse         func(kind Misuse, item T)
	shards           []shard[T]
	// readyBits has a bit for each shard whose FIFO is not empty. A shard's bit
	// changes only under the shard's lock, in the same critical section as its
	// FIFO, so that whoever sees no bit has seen an empty queue.
	readyBits []atomic.Uint64
	rejected  atomic.Uint64

	closing closing
	drained drain
	time    timebase
	driver  driver[T]

	_     cacheLine
	lanes [lanes]lane
	lot   lot
	_     cacheLine
}

// cacheLine keeps what stands before it and what stands after it off each other's
// cache lines. 64 bytes is right for amd64, and for arm64 but for Apple's.
type cacheLine [64]byte

// shard is one of the queues that a Set is made of. What every operation touches
// fills its first cache line, and the rest the second: when a shard passes from one
// core to another, each line is a trip of its own. A test asserts the layout.
type shard[T comparable] struct {
	// mu guards all fields below but next and the two fixed ones.
	mu   sync.Mutex
	fifo fifo
	// processing counts the items handed out and not yet Done.
	processing int32
	// served counts the times a consumer took from here, modulo its range.
	served uint16
	// fruitless counts the adds merged since an item was handed out, modulo its
	// range.
	fruitless uint16
	count     counters
	// table holds the entries; nil while there have been none.
	table *table[T]
	// wheel holds the timers of waiting items, by the ids of their entries; nil
	// while there have been none.
	wheel *timerwheel.Wheel

	rare rareCounters
	// next is the tick at which the wheel wants to be advanced, never if it is
	// empty. It is written under mu and read by the driver without.
	next atomic.Uint64
	// filedAt is the earliest reading of the clock by which a timer was filed
	// during the driver's look filedIn: see reading.
	filedAt uint64
	filedIn uint16
	// owed says that a drain waits for this shard to become quiescent.
	owed bool
	// number and set are fixed.
	number uint32
	set    *Set[T]

	_ [shardPadding]byte
}

// shardPadding fills a shard up to two cache lines.
const shardPadding = 8

// New returns a Set. It starts no goroutine and sets no timer.
func New[T comparable](config Config[T]) *Set[T] {
	s := &Set[T]{
		seed:             maphash.MakeSeed(),
		route:            config.Route,
		mayDiffer:        mayDiffer[T](),
		cancelDelayOnAdd: config.CancelDelayOnAdd,
		onMisuse:         config.OnMisuse,
		shards:           make([]shard[T], config.Shards),
		readyBits:        newReadyBits(config.Shards),
		time:             newTimebase(config.Clock, config.Tick),
		lot:              newLot(),
	}
	s.drained.init()
	s.driver.init(s)
	for i := range s.lanes {
		s.lanes[i].turn.Store(uint32(i * config.Shards / lanes))
	}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.set, sh.number = s, uint32(i)
		sh.next.Store(never)
	}
	return s
}
