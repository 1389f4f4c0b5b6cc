package shard

import (
	"fmt"
	"hash/maphash"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/shardq/shardq/shard/internal/line"
	"github.com/shardq/shardq/stats"
)

// addressOf writes the address of an item: to return it would cost a copy.
func (s *Set[T]) addressOf(item T, to *address) (sh *shard) {
	sh, to.hash = s.locateTagged(item, &to.Tag)
	return sh
}

// locateTagged is locate, and writes the item's group and its policy to tag.
func (s *Set[T]) locateTagged(item T, tag *line.Tag) (sh *shard, hash uint32) {
	if !s.Core.config.grouped {
		return s.locate(item)
	}
	hash = uint32(maphash.Comparable(s.Core.seed, item))
	return s.Core.shardAt(s.Core.tag(tag, s.user.Group(item))), hash
}

func (s *Core) tag(to *line.Tag, group string) (route uint64) {
	hash := maphash.String(s.seed, group)
	to.Group, to.Hash = group, uint32(hash)
	if s.config.GroupPolicy != nil {
		s.ask(to)
	}
	if s.config.StableRouting {
		return xxhash.Sum64String(group)
	}
	return hash
}

func (s *Core) ask(to *line.Tag) {
	to.Asked = s.refreshes.begun.Load()
	p := s.config.GroupPolicy(to.Group)
	to.Rate = line.Rate{}
	if p.Rate != (stats.Rate{}) { // few groups have one, and each add asks
		s.takeRate(to, p.Rate)
	}
	to.Weight = int32(min(max(1, p.Weight), MaxGroupWeight))
	to.Limit = int32(min(max(0, p.Limit), math.MaxInt32))
}

func (s *Core) takeRate(to *line.Tag, r stats.Rate) {
	if err := r.Validate(); err != nil {
		panic(fmt.Errorf("shardq: Options.GroupPolicy of %q: %w", to.Group, err))
	}
	if to.Rate = line.RateOf(r); to.Rate.Limits() && s.gate.cares.Load()&caresForGroupRates == 0 {
		s.gate.cares.Or(caresForGroupRates)
	}
}

func (s *Core) groupRoute(group string) uint64 {
	if s.config.StableRouting {
		return xxhash.Sum64String(group)
	}
	return maphash.String(s.seed, group)
}
