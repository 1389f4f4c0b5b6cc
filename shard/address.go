package shard

import (
	"fmt"
	"hash/maphash"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/shardq/shardq/shard/internal/line"
	"github.com/shardq/shardq/stats"
)

// MaxGroupWeight is the greatest weight of a group.
const MaxGroupWeight = line.MaxGroupWeight

type address struct {
	hash uint32
	mark uint8 // of the processing in which an add has found the item, or 0
	line.Tag
}

// addressOf fills in the address of an item, because a copy would take time.
func (s *Set[T]) addressOf(item T, to *address) (sh *shard) {
	if !s.Core.config.grouped {
		sh, to.hash = s.locate(item)
		return sh
	}
	to.hash = uint32(maphash.Comparable(s.Core.seed, item))
	return s.Core.shardAt(s.Core.tag(&to.Tag, s.user.Group(item)))
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
	p := s.config.GroupPolicy(to.Group)
	to.Weight = int32(min(max(1, p.Weight), MaxGroupWeight))
	to.Limit = int32(min(max(0, p.Limit), math.MaxInt32))
	to.Rate = line.Rate{}
	if p.Rate == (stats.Rate{}) {
		return // as most, and each add asks
	}
	if err := p.Rate.Validate(); err != nil {
		panic(fmt.Errorf("shardq: Options.GroupPolicy of %q: %w", to.Group, err))
	}
	if to.Rate = line.RateOf(p.Rate); to.Rate.Limits() && s.gate.cares.Load()&caresForGroupRates == 0 {
		s.gate.cares.Or(caresForGroupRates)
	}
}

func (s *Core) groupRoute(group string) uint64 {
	if s.config.StableRouting {
		return xxhash.Sum64String(group)
	}
	return maphash.String(s.seed, group)
}

func (s *Core) hashOfGroup(group string) uint32 { return uint32(maphash.String(s.seed, group)) }

// An Address lets an item be added without calling user code.
type Address struct {
	shard uint16
	to    address
}

// SetAddress sets a to the address of an item. It may call user code.
func (s *Set[T]) SetAddress(a *Address, item T) { a.shard = s.addressOf(item, &a.to).number }

// Mark returns the [Handle.Mark] of the processing in which the last AddTo or
// FileTo has found the item, or 0.
func (a *Address) Mark() uint8 { return a.to.mark }

// AddTo is [Set.Add] at a known address.
func (s *Set[T]) AddTo(item T, a *Address, keepDelay bool) {
	defer s.addTo(item, a, keepDelay)
	s.Core.refresh()
}

// FileTo is [Set.AddWith] at a known address.
func (s *Set[T]) FileTo(item T, a *Address, d Delay) {
	filed := false
	defer func() {
		if !filed {
			s.addTo(item, a, true)
		}
	}()
	s.fileIn(s.Core.shard(int(a.shard)), item, &a.to, d, nil)
	filed = true
}

func (s *Set[T]) addTo(item T, a *Address, keepDelay bool) {
	sh := s.Core.shard(int(a.shard))
	sh.lock()
	fx := s.addMarked(sh, item, &a.to, request{cancelsDelay: true, keepsDelay: keepDelay})
	sh.unlock()
	s.Core.after(fx)
}

// addMarked is addItem that sets the mark. It looks the item up again, because
// nearly all adds make their item ready.
func (s *Set[T]) addMarked(sh *shard, item T, to *address, r request) effects {
	to.mark = 0
	fx := s.addItem(sh, item, to, r)
	if fx&wakes == 0 {
		if id := s.find(sh, item, to.hash); id != 0 {
			to.mark = markOfEntry(sh.table.At(id))
		}
	}
	return fx
}
