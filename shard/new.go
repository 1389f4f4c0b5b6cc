package shard

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/ticks"
)

// SetRules replaces the rules. It must be called before the set is used.
func (s *Core) SetRules(r Rules) {
	s.config.Rules = r
	s.lines = s.config.lines()
}

// New returns a Set. It starts no goroutine and sets no timer.
func New[T comparable](config Config[T]) *Set[T] {
	s := &Set[T]{
		user:  config,
		route: config.Route,
	}
	if config.Group != nil {
		s.route = func(item T) uint64 { return s.Core.groupRoute(config.Group(item)) }
	}
	config.grouped, config.hearsAdds = config.Group != nil, config.OnAdd != nil
	s.Core = newCore(config.Settings, s, items.TypeOf[T]())
	return s
}

func newCore(config Settings, above above, of *items.Type) (s *Core) {
	s = &Core{
		config: config,
		above:  above,
		items:  of,
		seed:   maphash.MakeSeed(),
		shards: newShards(config.Shards, config.LowPriorityInterval),
		limit: itemlimit.New(int64(config.Capacity),
			int64(config.HighWatermark), int64(config.LowWatermark), config.OnWatermark),
		time: ticks.New(config.Clock, config.Tick),
		ids:  idLimit{most: items.MaxIDs},
	}
	if config.Shards == 1 {
		s.door, s.producersDoor = new(sync.Mutex), new(sync.Mutex)
	}
	s.notifies = s.limit != nil || config.hearsAdds || config.GroupPolicy != nil
	if config.grouped {
		s.throttled.waits = make([]atomic.Uint64, config.Shards)
		for i := range s.throttled.waits {
			s.throttled.waits[i].Store(never)
		}
	}
	s.lines = s.config.lines()
	s.gate.init(&s.time, &s.config, s.wakeIfServable)
	if config.Metrics {
		s.measures = make([]*measures, config.Shards)
		s.coarse.Sampler.Init(s.time.Tick)
	}
	s.drains.init()
	s.closing.ending, s.closing.end = context.WithCancel(context.Background())
	s.watchdog.set = s
	s.watchdog.next.Store(never)
	if config.OnStuck != nil {
		s.watchdog.after = s.time.Ticks(config.StuckAfter) + 1 // an item may be almost a tick younger than its stamp
	}
	s.driver.init(s)
	s.parker.Init()
	return s
}

// MaxShards is the largest number of shards of a [Set].
const MaxShards = 4096

// DefaultShards returns a power of two that suits a number of processors.
func DefaultShards(processors int) int {
	return ceilPowerOfTwo(min(max(min(16*processors, 32), 8*processors), 256))
}
