package shard

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// Get returns the next ready item and takes it into processing: until its Done, no
// other Get returns it. It blocks while nothing is ready. After a shutdown it
// returns what is still ready, and otherwise the zero T and true, at once.
func (s *Set[T]) Get() (item T, shutdown bool) {
	if item, ok := s.take(); ok {
		return item, false
	}
	return s.await()
}

// take hands out an item if one is ready.
func (s *Set[T]) take() (item T, ok bool) {
	if len(s.shards) == 1 {
		s.shards[0].mu.Lock()
		return s.shards[0].takeLocked()
	}
	lane := s.lane()
	for {
		sh := s.lockReady(lane.turn.Load())
		if sh == nil {
			return item, false
		}
		if sh.served++; sh.served%quantum == 0 {
			lane.turn.Store((sh.number + 1) % uint32(len(s.shards)))
		}
		if item, ok = sh.takeLocked(); ok {
			return item, true
		}
		// Another consumer emptied the shard between our look and its lock.
	}
}

// quantum is the number of items that a shard hands out in its turn. Staying with
// a shard spares the trips of its cache lines between cores; moving on keeps the
// order near to first-in, first-out across shards.
const quantum = 8

// lanes is the number of places from which consumers go round the shards.
const lanes = 4

// A lane is the way of some of the consumers round the shards. With one lane for
// all, consumers on different cores met in one shard, for Get and again for Done.
type lane struct {
	// turn is the number of the shard whose turn it is.
	turn atomic.Uint32
	_    [60]byte
}

// lane returns the lane of the calling goroutine, by where its stack lies: a
// goroutine stays in its lane until its stack moves, and costs no more than this.
func (s *Set[T]) lane() *lane {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack is 2 KiB
	return &s.lanes[address*0x9e3779b97f4a7c15>>62]
}

// takeLocked hands out the item at the head of the FIFO, and unlocks.
func (sh *shard[T]) takeLocked() (item T, ok bool) {
	id, e := sh.pop()
	if id == 0 {
		sh.mu.Unlock()
		return item, false
	}
	e.step(taken)
	item = e.item
	sh.processing++
	sh.fruitless = 0
	sh.mu.Unlock()
	return item, true
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

// anyReady reports whether any shard had something ready at some moment since it
// was called; if not, each shard was empty at some moment since then.
func (s *Set[T]) anyReady() bool {
	if len(s.shards) == 1 {
		return s.shards[0].length() > 0
	}
	for i := range s.readyBits {
		if s.readyBits[i].Load() != 0 {
			return true
		}
	}
	return false
}

// markReady and markEmpty keep a shard's ready bit. A single shard needs none: to
// look into it costs no more.
func (s *Set[T]) markReady(number uint32) {
	if len(s.shards) > 1 {
		s.readyBits[number/64].Or(1 << (number % 64))
	}
}

func (s *Set[T]) markEmpty(number uint32) {
	if len(s.shards) > 1 {
		s.readyBits[number/64].And(^(uint64(1) << (number % 64)))
	}
}
