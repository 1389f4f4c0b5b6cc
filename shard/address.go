package shard

import (
	"hash/maphash"
	"math"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
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
func (s *Set[T]) initGroups(config Config[T]) {
	if s.group = config.Group; s.group == nil {
		return
	}
	s.groupWeight, s.groupLimit = config.GroupWeight, int32(min(config.GroupLimit, math.MaxInt32))
	s.groupLimitOf, s.groupRate = config.GroupLimitOf, config.GroupRate
	s.waits = make([]atomic.Uint64, len(s.shards))
	for i := range s.waits {
		s.waits[i].Store(never)
	}
	s.stableGroups = config.StableRouting
	s.route = func(item T) uint64 { return s.groupRoute(s.group(item)) }
}

// addressOf returns an item's shard, and sets its address there. It fills the
// caller's address, because a copy would take time. It may call user code.
func (s *Set[T]) addressOf(item T, to *address) (sh *shard[T]) {
	if s.group == nil {
		sh, to.hash = s.locate(item)
		return sh
	}
	to.hash = uint32(maphash.Comparable(s.seed, item))
	return s.shardAt(s.tag(&to.tag, s.group(item)))
}

// tag sets what there is to know of a group, and asks the user for it. It
// returns the route of the group.
func (s *Set[T]) tag(to *tag, group string) (route uint64) {
	hash := maphash.String(s.seed, group)
	to.group, to.groupHash = group, uint32(hash)
	if s.asksOfGroups() {
		s.ask(to)
	}
	if s.stableGroups {
		return xxhash.Sum64String(group)
	}
	return hash
}

// ask asks the user for the weight, the limit and the rate of a group.
func (s *Set[T]) ask(to *tag) {
	to.weight, to.limit = 1, s.groupLimit
	if s.groupWeight != nil {
		to.weight = int32(min(max(1, s.groupWeight(to.group)), MaxGroupWeight))
	}
	if s.groupLimitOf != nil {
		if limit := s.groupLimitOf(to.group); limit > 0 {
			to.limit = int32(min(limit, math.MaxInt32))
		}
	}
	if s.groupRate != nil {
		to.rate = rateOf(s.groupRate(to.group))
	}
}

// groupRoute returns the hash of a group that selects its shard.
func (s *Set[T]) groupRoute(group string) uint64 {
	if s.stableGroups {
		return xxhash.Sum64String(group)
	}
	return maphash.String(s.seed, group)
}

// asksOfGroups reports whether the user is asked for anything of a group.
func (s *Set[T]) asksOfGroups() bool {
	return s.groupWeight != nil || s.groupLimitOf != nil || s.groupRate != nil
}

// hashOfGroup returns the hash by which a shard finds a group. It is seeded,
// like that of an item.
func (s *Set[T]) hashOfGroup(group string) uint32 { return uint32(maphash.String(s.seed, group)) }
