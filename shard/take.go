package shard

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// takeNow calls no user code. now is the time, if groups have rates.
func (s *Set[T]) takeNow(now uint64) (item T, priority int, h Handle, ok bool) {
	if s.config.Group != nil {
		return s.takeRoundRobin(now)
	}
	if len(s.shards) == 1 {
		sh := s.shard(0)
		sh.mu.Lock()
		item, priority, h, ok = sh.take(&sh.ready, false)
		sh.mu.Unlock()
		return item, priority, h, ok
	}
	lane, p := s.lane(), s.priorityBitmap.Load()
	for {
		var sh *shard[T]
		passedOver := false
		if p == nil {
			sh = s.lockReady(lane.turn.Load())
		} else {
			sh, passedOver = s.lockByPriority(p, lane)
		}
		if sh == nil {
			return item, 0, Handle{}, false
		}
		if sh.served++; sh.served%quantum == 0 {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		item, priority, h, ok = sh.take(&sh.ready, passedOver)
		sh.mu.Unlock()
		if ok {
			return item, priority, h, true
		}
		// Another consumer emptied the shard before it was locked.
	}
}

func (sh *shard[T]) take(q *runQueue[T], passedOver bool) (item T, priority int, h Handle, ok bool) {
	if q.isEmpty() {
		return item, 0, h, false
	}
	var id uint32
	var e *entry[T]
	if sh.groups != nil || q.levels != nil {
		id, e, priority = q.take(sh.table, passedOver)
		sh.pulled(q, id, q.isEmpty())
	} else if id, e = q.pop(sh.table); q.isEmpty() { // by hand, as in push
		sh.set.markEmpty(sh.number)
	}
	q.processing++
	sh.fruitless = 0
	fence := sh.fence()
	e.step(taken)
	e.fence = uint32(fence)
	if fence > math.MaxUint32 {
		sh.table.setUpperFence(id, uint32(fence>>32))
	}
	sh.table.times.onStart(&sh.table.slab, id, e)
	return e.item, priority, Handle{fence, id, sh.number}, true
}

// quantum is the number of items of a shard's turn. Staying keeps its cache
// lines on one core. Moving on keeps the order near to first in, first out.
const quantum = 8

// A lane is the path of some consumers through the shards. With one for all,
// consumers on different cores met in one shard, for Get and again for Done.
type lane struct {
	turn              atomic.Uint32 // the number of the shard whose turn it is
	gets, passedOver  atomic.Uint32 // the Gets, and the next shard for those that pass over the higher levels
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

// lane chooses by the address of the goroutine's stack: a worker that calls Get
// from one place stays in its lane until its stack moves.
func (s *Set[T]) lane() *lane {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack is 2 KiB
	return &s.lanes[address*0x9e3779b97f4a7c15>>s.laneShift]
}

// lockReady prefers a ready shard that nobody locked, or waits for the first.
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
