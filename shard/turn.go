package shard

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// quantum is the number of items that a shard hands out in its turn. Staying with
// a shard spares the trips of its cache lines between cores; moving on keeps the
// order near to first-in, first-out across shards.
const quantum = 8

// lanes is the number of places from which consumers go round the shards, and laneBits
// its logarithm.
const (
	lanes    = 4
	laneBits = 2
)

// A lane is the way of some of the consumers round the shards. With one lane for
// all, consumers on different cores met in one shard, for Get and again for Done.
type lane struct {
	// turn is the number of the shard whose turn it is.
	turn atomic.Uint32
	// gets counts the Gets, and passedOver is the shard whose turn it is for those that
	// pass by the higher levels: see urgency.
	gets, passedOver atomic.Uint32
	// retries and backedOff count what Metrics calls so.
	retries, backedOff atomic.Uint64
	_                  [32]byte
}

// lane returns a lane for the calling goroutine, by where its stack lies. A worker
// that calls Get from one place stays in its lane until its stack moves; which lane
// it is, and that it stays, is good for speed and matters for nothing else.
func (s *Set[T]) lane() *lane {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack is 2 KiB
	return &s.lanes[address*0x9e3779b97f4a7c15>>(64-laneBits)]
}

// lockReady returns, locked, a shard that had something ready when it looked, or
// nil if there was none: the first at or after the shard whose turn it is that
// nobody else has locked just then, or the first of all.
func (s *Set[T]) lockReady(start uint32) *shard[T] {
	var first *shard[T]
	word := int(start / 64)
	ready := s.readyBits[word].Load() &^ (1<<(start%64) - 1)
	for range len(s.readyBits) + 1 {
		for ; ready != 0; ready &= ready - 1 {
			sh := &s.shards[word*64+bits.TrailingZeros64(ready)]
			if sh.mu.TryLock() {
				return sh
			}
			if first == nil {
				first = sh
			}
		}
		word++
		if word == len(s.readyBits) {
			word = 0
		}
		ready = s.readyBits[word].Load()
	}
	if first != nil {
		first.mu.Lock()
	}
	return first
}

// newReadyBits makes room for a cache line at least, so that no other allocation
// shares the line that all consumers and producers look at.
func newReadyBits(shards int) []atomic.Uint64 {
	words := (shards + 63) / 64
	return make([]atomic.Uint64, words, max(words, len(cacheLine{})/8))
}

// anyReady reports whether any shard had something ready at some moment since it
// was called; if not, each shard was empty at some moment since then.
func (s *Set[T]) anyReady() bool {
	if len(s.shards) == 1 {
		return s.shards[0].servable()
	}
	for i := range s.readyBits {
		if s.readyBits[i].Load() != 0 {
			return true
		}
	}
	return false
}

// servable reports whether a Get would return something. It takes the lock.
func (sh *shard[T]) servable() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.groups != nil {
		return sh.groups.turn != 0
	}
	return !sh.ready.isEmpty()
}

// markReady and markEmpty keep a shard's ready bit. A single shard needs none: to
// look into it costs no more.
func (s *Set[T]) markReady(number uint16) {
	if len(s.shards) > 1 {
		s.readyBits[number/64].Or(1 << (number % 64))
	}
}

func (s *Set[T]) markEmpty(number uint16) {
	if len(s.shards) > 1 {
		s.readyBits[number/64].And(^(uint64(1) << (number % 64)))
	}
}
