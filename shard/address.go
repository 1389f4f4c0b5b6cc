package shard

import (
	"fmt"
	"hash/maphash"
	"math"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/shardq/shardq/stats"
)

// An address locates an item within its shard.
type address struct {
	hash uint32
	tag
}

// A tag is the group of an item, if there are groups, and what the user says of
// the group. If the user is not asked, weight is 0.
type tag struct {
	group         string
	groupHash     uint32
	weight, limit int32
	rate          rate
}

// initGroups makes the shard of an item follow from its group, if there are
// groups.
func (s *Set[T]) initGroups() {
	if s.config.Group == nil {
		return
	}
	s.waits = make([]atomic.Uint64, len(s.shards))
	for i := range s.waits {
		s.waits[i].Store(never)
	}
	s.route = func(item T) uint64 { return s.groupRoute(s.config.Group(item)) }
}

// addressOf returns an item's shard, and sets its address there. It fills the
// caller's address, because a copy would take time. It may call user code.
func (s *Set[T]) addressOf(item T, to *address) (sh *shard[T]) {
	if s.config.Group == nil {
		sh, to.hash = s.locate(item)
		return sh
	}
	to.hash = uint32(maphash.Comparable(s.seed, item))
	return s.shardAt(s.tag(&to.tag, s.config.Group(item)))
}

// tag sets what there is to know of a group, and asks the user for it. It
// returns the route of the group.
func (s *Set[T]) tag(to *tag, group string) (route uint64) {
	hash := maphash.String(s.seed, group)
	to.group, to.groupHash = group, uint32(hash)
	if s.config.GroupPolicy != nil {
		s.ask(to)
	}
	if s.config.StableRouting {
		return xxhash.Sum64String(group)
	}
	return hash
}

// ask asks the user for the policy of a group. It panics if that has a fault.
func (s *Set[T]) ask(to *tag) {
	p := s.config.GroupPolicy(to.group)
	to.weight = int32(min(max(1, p.Weight), MaxGroupWeight))
	to.limit = int32(min(max(0, p.Limit), math.MaxInt32))
	to.rate = rate{}
	if p.Rate == (stats.Rate{}) {
		return // as most, and each add asks
	}
	if err := p.Rate.Validate(); err != nil {
		panic(fmt.Errorf("shardq: Options.GroupPolicy of %q: %w", to.group, err))
	}
	if to.rate = rateOf(p.Rate); to.rate.limits() && s.cares.Load()&caresForGroupRates == 0 {
		s.cares.Or(caresForGroupRates)
	}
}

// groupRoute returns the hash of a group that selects its shard.
func (s *Set[T]) groupRoute(group string) uint64 {
	if s.config.StableRouting {
		return xxhash.Sum64String(group)
	}
	return maphash.String(s.seed, group)
}

// hashOfGroup returns the hash by which a shard finds a group. It is seeded,
// like that of an item.
func (s *Set[T]) hashOfGroup(group string) uint32 { return uint32(maphash.String(s.seed, group)) }
