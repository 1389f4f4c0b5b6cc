package shard

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A shard hands out so many items in its turn. Staying keeps its cache lines on
// one core. Moving on keeps the order near to first in, first out.
const quantum = 8

// A lane is the path of some consumers through the shards. With one for all,
// consumers on different cores met in one shard, for Get and again for Done.
type lane struct {
	turn atomic.Uint32 // the number of the shard whose turn it is
	// gets counts the Gets. passedOver is the shard whose turn it is for Gets
	// that pass over the higher levels.
	gets, passedOver  atomic.Uint32
	retries, backoffs atomic.Uint64 // for the metrics
	_                 [32]byte
}

// newLanes returns at most sixteen lanes, because each takes memory.
func newLanes(processors, shards int) []lane {
	all := make([]lane, ceilPowerOfTwo(min(max(processors, 4), 16)))
	for i := range all {
		all[i].turn.Store(uint32(i * shards / len(all)))
	}
	return all
}

// lane chooses by the address of the goroutine's stack. A worker that calls Get
// from one place stays in its lane until its stack moves. Only speed depends on
// it.
func (s *Set[T]) lane() *lane {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack is 2 KiB
	return &s.lanes[address*0x9e3779b97f4a7c15>>s.laneShift]
}

// lockReady prefers the first shard at or after start that was ready when its
// bit was read, and that no other goroutine has locked. If all are locked, it
// waits for the first.
func (s *Set[T]) lockReady(start uint32) *shard[T] {
	var first *shard[T]
	word, words := int(start/wordBits), s.readyWords()
	ready := s.readyWord(word) &^ (1<<(start%wordBits) - 1)
	for range words + 1 {
		for ; ready != 0; ready &= ready - 1 {
			sh := s.shard(word*wordBits + bits.TrailingZeros64(ready))
			if sh.mu.TryLock() {
				return sh
			}
			if first == nil {
				first = sh
			}
		}
		word++
		if word == words {
			word = 0
		}
		ready = s.readyWord(word)
	}
	if first != nil {
		first.mu.Lock()
	}
	return first
}
