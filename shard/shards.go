package shard

import (
	"iter"
	"math/bits"
	"runtime"
)

// A Set makes each of its shards when the first item comes to it.
//
// A goroutine that changes a word that all shards obey, such as
// closing.refusing, may skip a shard that does not exist yet. Whoever makes it
// reads that word later still, under the shard's lock.

// MaxShards is the largest number of shards of a [Set].
const MaxShards = 4096

// DefaultShards returns a number of shards that suits the machine, a power of
// two: sixteen for each processor that Go may use, up to 32, or four for each,
// up to 256.
func DefaultShards() int { return defaultShards(runtime.GOMAXPROCS(0)) }

func defaultShards(processors int) int {
	return ceilPowerOfTwo(min(max(min(16*processors, 32), 4*processors), 256))
}

func ceilPowerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

func (s *Set[T]) shard(number int) *shard[T] {
	if sh := s.shards[number].Load(); sh != nil {
		return sh
	}
	return s.makeShard(number)
}

func (s *Set[T]) makeShard(number int) *shard[T] {
	sh := &shard[T]{set: s, number: uint16(number)}
	sh.next.Store(never)
	if !s.shards[number].CompareAndSwap(nil, sh) {
		return s.shards[number].Load()
	}
	return sh
}

// made yields the shards that exist, in the order of their numbers.
func (s *Set[T]) made() iter.Seq[*shard[T]] {
	return func(yield func(*shard[T]) bool) {
		for i := range s.shards {
			if sh := s.shards[i].Load(); sh != nil && !yield(sh) {
				return
			}
		}
	}
}
