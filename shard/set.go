package shard

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/line"
	"github.com/shardq/shardq/shard/internal/ticks"
	"github.com/shardq/shardq/shard/internal/wake"
	"github.com/shardq/shardq/stats"
)

// Config configures a [Set]. Package shardq documents and validates the fields.
type Config[T comparable] struct {
	Settings
	Route    func(item T) uint64 // nil: the seeded hash
	Group    func(item T) string // replaces Route
	Backoff  func(item T) time.Duration
	Forget   func(item T)
	OnAdd    func(stats.Add[T])
	OnMisuse func(kind stats.MisuseKind, item T)
}

// Settings are the part of a Config that touches no item.
type Settings struct {
	Shards              int
	Clock               clock.Clock
	Tick                time.Duration
	GroupPolicy         func(group string) stats.GroupPolicy
	StableRouting       bool // groups choose their shards without a seed
	Rate                stats.Rate
	LowPriorityInterval int
	// Metrics and OnStuck require Ages.
	Ages, Metrics               bool
	StuckAfter                  time.Duration
	OnStuck                     func(stats.Item[any])
	OnDropped                   func(adds uint64) // the dropped adds whose callers got no error
	Capacity                    int
	HighWatermark, LowWatermark int
	OnWatermark                 func(high bool)
	KeepBackoff                 bool
	Rules                       Rules

	grouped, hearsAdds bool // whether the Config has Group and OnAdd
}

// Rules are how a set may differ from client-go's queue.
type Rules struct {
	CancelDelayOnAdd bool // an Add of a delayed item cancels the delay
	DropDelayIfReady bool // the run to come of a ready or dirty item serves a delayed add
	KeepPlaces       bool // an item keeps the place in line of the first add that its next run serves
	// DiscardOnShutDown makes ShutDown drop what is ready or dirty.
	DiscardOnShutDown     bool
	PrioritiesBeforeTurns bool // groups take turns within the highest ready priority
	DrainProcessingOnly   bool // ShutDownWithDrain, like client-go's, does not wait for ready items
}

// A Set is a work queue made of shards, safe for concurrent use.
type Set[T comparable] struct {
	Core       *Core
	user       Config[T]
	route      func(item T) uint64
	adds       outbox[stats.Add[T]] // the calls of OnAdd that are due
	abandoned  abandoned[T]
	unreturned abandoned[T] // dropped by a Drain before it panicked, returned by the next
}

// A Core is the part of a Set that touches no item. So it is compiled once, and
// not again for each type of items in each program. A Set does not embed it,
// because the compiler would make wrappers of all its methods for each type.
type Core struct {
	config    Settings
	above     above
	seed      maphash.Seed
	throttled throttleCount
	refreshes refreshes
	gate      gate
	watches   watches
	notifies  bool // notify has something to do
	// door and producersDoor are where the waiters of a single shard queue, or nil: see
	// shard.lock.
	door, producersDoor *sync.Mutex
	items               *items.Type // of the tables of the shards
	lines               line.Config
	windows             atomic.Pointer[[]*windows] // of each shard, guarded by its lock, once an add asks for one

	faults faults

	ids idLimit

	limit *itemlimit.Limiter // nil without a capacity and a watermark

	closing       closing
	drains        drains
	time          ticks.Base
	driver        driver
	watchdog      watchdog
	stuck         outbox[stats.Item[any]] // the calls of OnStuck that are due, until a shutdown begins
	expiry        expiry
	measures      []*measures                   // of each shard, once it is used; nil without metrics
	inFlightAtEnd atomic.Pointer[stats.Metrics] // what Metrics report once a shutdown has begun
	probe         func(visited int)             // follows the holds of inspections, in tests
	shards        shards

	_      cacheLine
	coarse ticks.Coarse
	parker wake.Parker
	_      cacheLine
}

// ComparedByAddress returns the name of a type that items contain and that ==
// compares by address, or "" if there is none.
func (s *Core) ComparedByAddress() string { return s.items.Address }

// cacheLine keeps the fields before it and after it on different cache lines.
// 64 bytes is right for amd64, and for arm64 except Apple's.
type cacheLine [64]byte

// shard's first cache line has the fields that every operation writes, the
// second those that operations only read, or few of them write. Lines move
// between cores one by one, so fewer cost less. A test asserts the layout.
type shard struct {
	mu              sync.Mutex // guards all fields except next, number and set
	line            line.Line  // the order of the ready items; counts those in processing, too
	count           counters
	served          uint16    // the items taken from the shard, modulo its range
	fruitless, done uint8     // deduplicated adds since a hand-out, modulo its range; for done see countDone
	number          uint16    // this and set do not change
	owes            owed      // the reports that the shard owes: see effects
	peak            uint8     // how large the table has been
	table           *contents // nil if there are no entries and its storage was given back
	wheel           *wheel    // the timers by the ids of entries, or nil until there is one

	next atomic.Uint64 // when the wheel has to be advanced, or never; written under mu, read without
	set  *Core

	rare rareCounters // last, because it is rarely used: see the test of the layout
}

// contents are the entries of a shard, and their times, which are nil if the
// queue keeps no ages.
type contents struct {
	times *times
	items.Table
}

// A shard is made when its first item comes. Whoever changes a word that all
// shards obey, such as closing.refusing, may skip shards that do not exist yet.
// Whoever makes such a shard later reads that word under the shard's lock.

func (s *Core) shard(number int) *shard {
	if sh := s.shards.all[number].Load(); sh != nil {
		return sh
	}
	return s.makeShard(number)
}

func (s *Core) makeShard(number int) *shard {
	sh := &shard{set: s, number: uint16(number)}
	sh.next.Store(never)
	if !s.shards.all[number].CompareAndSwap(nil, sh) {
		return s.shards.all[number].Load()
	}
	return sh
}

func (s *Settings) tracksAdds() bool { return s.Rules.KeepPlaces || s.hearsAdds }

// faults count events that belong to no shard.
type faults struct{ rejected, misused, discarded atomic.Uint64 }

type counters struct {
	added, deduplicated uint64
}

type rareCounters struct {
	expired, dropped, canceled uint64
	done                       uint64 // a multiple of 256: see countDone
}
