package shard

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// Take is [Set.GetContext] with the item's priority and Handle.
func (s *Set[T]) Take(ctx context.Context) (item T, priority int, h Handle, err error) {
	if err := ctx.Err(); err != nil {
		return item, 0, Handle{}, err
	}
	if item, priority, h, ok := s.TryTake(); ok {
		return item, priority, h, nil
	}
	return s.awaitOne(ctx)
}

// awaitOne is apart, because its closure would keep what Take returns in memory.
func (s *Set[T]) awaitOne(ctx context.Context) (item T, priority int, h Handle, err error) {
	_, err = s.Core.awaitContext(ctx, 1, func(e *entry, its int, handle Handle) {
		item, priority, h = *itemOf[T](e), its, handle
	})
	return item, priority, h, err
}

// TryTake is [Set.Take] without blocking.
func (s *Set[T]) TryTake() (item T, priority int, h Handle, ok bool) {
	if s.Core.cares.Load() != 0 {
		return s.tryTakeWithCare()
	}
	return s.takeNow(0)
}

func (s *Set[T]) tryTakeWithCare() (item T, priority int, h Handle, ok bool) {
	if s.Core.config.Ages {
		s.Core.refreshForWork()
	}
	now := s.Core.readForTake()
	if s.Core.cares.Load()&caresForGate != 0 {
		return s.takeOneThroughGate(now)
	}
	if item, priority, h, ok = s.takeNow(now); ok {
		s.Core.setWatchdog()
	}
	return item, priority, h, ok
}

func (s *Set[T]) takeOneThroughGate(now uint64) (item T, priority int, h Handle, ok bool) {
	ok = s.Core.takeThroughGate(1, func(e *entry, its int, handle Handle) {
		item, priority, h = *itemOf[T](e), its, handle
	}, now) > 0
	if ok {
		s.Core.setWatchdog()
	}
	return item, priority, h, ok
}

// takeNow calls no user code. now is the time, if groups have rates.
func (s *Set[T]) takeNow(now uint64) (item T, priority int, h Handle, ok bool) {
	sh, e, priority, h := s.Core.takeAndLock(now)
	if e == nil {
		return item, 0, h, false
	}
	item = *itemOf[T](e)
	if s.Core.config.grouped {
		s.Core.unlockGrouped(sh)
	} else {
		sh.unlock()
	}
	return item, priority, h, true
}

// takeAndLock keeps the shard of an entry that it has taken locked, so that its
// item can be read.
func (s *Core) takeAndLock(now uint64) (sh *shard, e *entry, priority int, h Handle) {
	if s.config.grouped {
		return s.takeRoundRobin(now)
	}
	if len(s.shards) == 1 {
		sh = s.shard(0)
		sh.lock()
		if e, priority, h = sh.take(&sh.ready, false); e == nil {
			sh.unlock()
		}
		return sh, e, priority, h
	}
	lane, p := s.lane(), s.priorityBitmap.Load()
	for {
		passedOver := false
		if p == nil {
			sh = s.lockReady(lane.turn.Load())
		} else {
			sh, passedOver = s.lockByPriority(p, lane)
		}
		if sh == nil {
			return nil, nil, 0, Handle{}
		}
		if sh.served++; sh.served%quantum == 0 {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		if e, priority, h = sh.take(&sh.ready, passedOver); e != nil {
			return sh, e, priority, h
		}
		sh.unlock()
		// Another consumer emptied the shard before it was locked.
	}
}

func (s *Core) unlockTaken(sh *shard) {
	if s.config.grouped {
		s.unlockGrouped(sh)
	} else {
		sh.unlock()
	}
}

func (sh *shard) take(q *runQueue, passedOver bool) (e *entry, priority int, h Handle) {
	if q.isEmpty() {
		return nil, 0, h
	}
	var id uint32
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
	return e, priority, Handle{fence, id, sh.number}
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
func (s *Core) lane() *lane {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack is 2 KiB
	return &s.lanes[address*0x9e3779b97f4a7c15>>s.laneShift]
}

// lockReady prefers a ready shard that nobody locked, or waits for the first.
func (s *Core) lockReady(start uint32) *shard {
	var first *shard
	word, words := int(start/wordBits), s.readyWords()
	ready := s.readyWord(word) &^ (1<<(start%wordBits) - 1)
	for range words + 1 {
		for ; ready != 0; ready &= ready - 1 {
			sh := s.shard(word*wordBits + bits.TrailingZeros64(ready))
			if sh.tryLock() {
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
		first.lock()
	}
	return first
}
