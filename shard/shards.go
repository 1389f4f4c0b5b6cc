package shard

import (
	"iter"
	"math/bits"
	"runtime"
)

// A Set makes each of its shards when the first item comes to it. So a queue that is
// idle costs little, however many shards it may have.
//
// A shard that is not there yet holds nothing. Whoever changes a word that all shards
// obey, such as closing.refusing, and then passes by a shard that is not there, need
// not make it: whoever makes it afterwards reads that word later still, under the
// shard's lock.

// MaxShards is the largest number of shards of a [Set].
const MaxShards = 4096

// DefaultShards returns the number of shards that suits the machine: sixteen for each
// processor that Go may use, up to 32, and beyond that four for each processor, up to
// 256; a power of two. So a new queue stays within 8 KiB. docs/internals/decisions has the
// measurements.
func DefaultShards() int { return defaultShards(runtime.GOMAXPROCS(0)) }

func defaultShards(processors int) int {
	return ceilPowerOfTwo(min(max(min(16*processors, 32), 4*processors), 256))
}

// ceilPowerOfTwo returns the first power of two that is not below n, which is above 0.
func ceilPowerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// shard returns the shard with a number. It makes the shard if it is not there.
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

// made returns the shards that are there, in the order of their numbers.
func (s *Set[T]) made() iter.Seq[*shard[T]] {
	return func(yield func(*shard[T]) bool) {
		for i := range s.shards {
			if sh := s.shards[i].Load(); sh != nil && !yield(sh) {
				return
			}
		}
	}
}
