package shard

import (
	"hash/maphash"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/shardq/shardq/internal/shared"
)

// An address locates an item within its shard.
type address struct {
	hash uint32
	tag
}

// A tag is the group of an item, if there are groups, and what the user says of
// the group.
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
	s.waits = make([]shared.Uint64[shared.Deadline], len(s.shards))
	for i := range s.waits {
		s.waits[i].Store(never)
	}
	s.groupRoute = func(group string) uint64 { return maphash.String(s.seed, group) }
	if config.StableRouting {
		s.groupRoute = xxhash.Sum64String
	}
	s.route = func(item T) uint64 { return s.groupRoute(s.group(item)) }
}

// addressOf returns an item's shard, and its address there. It may call user
// code.
func (s *Set[T]) addressOf(item T) (sh *shard[T], to address) {
	if s.group == nil {
		sh, to.hash = s.locate(item)
		return sh, to
	}
	hash := maphash.Comparable(s.seed, item)
	group := s.group(item)
	return s.shardAt(s.groupRoute(group)), address{uint32(hash), s.tagOf(group)}
}

// tagOf asks the user for all that there is to know of a group.
func (s *Set[T]) tagOf(group string) tag {
	t := tag{group: group, groupHash: s.hashOfGroup(group), weight: s.weightOf(group), limit: s.limitOf(group)}
	if s.groupRate != nil {
		t.rate = rateOf(s.groupRate(group))
	}
	return t
}

// limitOf asks the user for the limit of a group.
func (s *Set[T]) limitOf(group string) int32 {
	if s.groupLimitOf != nil {
		if limit := s.groupLimitOf(group); limit > 0 {
			return int32(min(limit, math.MaxInt32))
		}
	}
	return s.groupLimit
}

// asksOfGroups reports whether the user is asked for anything of a group.
func (s *Set[T]) asksOfGroups() bool {
	return s.groupWeight != nil || s.groupLimitOf != nil || s.groupRate != nil
}

// weightOf asks the user for the weight of a group.
func (s *Set[T]) weightOf(group string) int32 {
	if s.groupWeight == nil {
		return 1
	}
	return int32(min(max(1, s.groupWeight(group)), MaxGroupWeight))
}

// hashOfGroup returns the hash by which a shard finds a group. It is seeded,
// like that of an item.
func (s *Set[T]) hashOfGroup(group string) uint32 { return uint32(maphash.String(s.seed, group)) }
