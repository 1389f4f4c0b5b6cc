package shard

import (
	"hash/maphash"
	"math/bits"

	"github.com/shardq/shardq/stats"
)

// locate returns the shard of item, by the upper half of a seeded hash, and the
// lower half, which finds item within the shard. The seed keeps outsiders from
// choosing keys that collide. A user's route only chooses the shard, so a poor
// one makes shards uneven, never slow. locate panics if item holds a value that
// cannot be hashed, before anything is locked.
func (s *Set[T]) locate(item T) (sh *shard, hash uint32) {
	seeded := maphash.Comparable(s.Core.seed, item)
	spread := seeded
	if s.route != nil {
		spread = spreadOut(s.route(item))
	}
	number, _ := bits.Mul32(uint32(spread>>32), uint32(len(s.Core.shards.all)))
	if sh = s.Core.shards.all[number].Load(); sh == nil {
		sh = s.Core.makeShard(int(number))
	}
	return sh, uint32(seeded)
}

// spreadOut is Fibonacci hashing (Knuth, volume 3, 6.4).
func spreadOut(route uint64) uint64 { return route * 0x9e3779b97f4a7c15 }

func (s *Core) shardAt(route uint64) *shard {
	number, _ := bits.Mul32(uint32(spreadOut(route)>>32), uint32(len(s.shards.all)))
	return s.shard(int(number))
}

// Reject reports whether item is not equal to itself, and must not be added. It
// counts such an item, and calls OnMisuse.
func (s *Set[T]) Reject(item T) bool {
	if item == item { //nolint:staticcheck // NaN is not
		return false
	}
	s.Core.faults.rejected.Add(1)
	s.report(stats.ItemNotEqualToItself, item)
	return true
}

func (s *Set[T]) report(kind stats.MisuseKind, item T) {
	if s.user.OnMisuse != nil {
		s.user.OnMisuse(kind, item)
	}
}
