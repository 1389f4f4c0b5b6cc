package shard

import (
	"iter"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/shardq/shardq/shard/internal/wake"
)

// shards choose the shard that a take serves.
type shards struct {
	all         []atomic.Pointer[shard] // made when they are first used: see Core.shard
	ready       wake.Ready
	priorities  atomic.Pointer[wake.Priorities] // nil while all priorities are 0, and for one shard
	lowInterval uint32                          // one of so many takes passes over the higher priorities; 0 is none
	lanes       lanes
}

func newShards(n, lowInterval int) shards {
	return shards{
		all: make([]atomic.Pointer[shard], n), ready: wake.NewReady(n), lowInterval: uint32(lowInterval),
		lanes: newLanes(runtime.GOMAXPROCS(0), n),
	}
}

func (s *shards) made() iter.Seq[*shard] {
	return func(yield func(*shard) bool) {
		for i := range s.all {
			if sh := s.all[i].Load(); sh != nil && !yield(sh) {
				return
			}
		}
	}
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

// lanes are at most sixteen, because each takes memory.
type lanes struct {
	all   []lane
	shift uint8 // leaves as many bits of a word as the number of a lane has
}

func newLanes(processors, shards int) lanes {
	all := make([]lane, ceilPowerOfTwo(min(max(processors, 4), 16)))
	for i := range all {
		all[i].turn.Store(uint32(i * shards / len(all)))
	}
	return lanes{all, uint8(64 - bits.TrailingZeros(uint(len(all))))}
}

// laneIfMany is nil for a single shard, through which there is one path.
func (s *shards) laneIfMany() *lane {
	if len(s.all) == 1 {
		return nil
	}
	return s.lane()
}

// lane chooses by the address of the goroutine's stack: a worker that calls Get
// from one place stays in its lane until its stack moves.
func (s *shards) lane() *lane {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack is 2 KiB
	return &s.lanes.all[address*0x9e3779b97f4a7c15>>s.lanes.shift]
}

// showPriority publishes the priority that a shard serves, if there are several
// shards. The first priority other than 0 makes the bitmap.
func (s *shards) showPriority(number uint16, priority int, becameReady bool) {
	p := s.priorities.Load()
	if p == nil {
		s.priorities.CompareAndSwap(nil, wake.NewPriorities(len(s.all)))
		p = s.priorities.Load()
	}
	p.Show(number, priority, becameReady)
}

func (s *shards) hidePriority(number uint16) {
	if p := s.priorities.Load(); p != nil {
		p.Show(number, 0, false)
	}
}

func (s *shards) lockByPriority(p *wake.Priorities, lane *lane) (sh *shard, passedOver bool) {
	if s.lowInterval > 0 && lane.gets.Add(1)%s.lowInterval == 0 {
		return s.lockPassedOver(lane), true
	}
	start := lane.turn.Load()
	var c wake.Search
	for c.Begin(p, &s.ready); ; {
		if sh = s.lockAmong(c.Next(), start); sh != nil || c.IsLast() {
			return sh, false
		}
	}
}

func (s *shards) lockPassedOver(lane *lane) *shard {
	sh := s.lockReady(lane.passedOver.Load())
	if sh != nil {
		lane.passedOver.Store((uint32(sh.number) + 1) % uint32(len(s.all)))
	}
	return sh
}

func (s *shards) lockReady(start uint32) *shard {
	if len(s.all) <= wake.WordBits { // as lockAmong, but faster
		ready := s.ready.Word(0)
		if later := ready >> start << start; later != 0 {
			ready = later
		}
		if ready == 0 {
			return nil
		}
		if sh := s.all[bits.TrailingZeros64(ready)].Load(); sh.tryLock() {
			return sh
		}
	}
	return s.lockAmong(&wake.Set{}, start)
}

// lockAmong locks a ready shard of a set: one whose lock is free, or else the
// first, for which it waits.
func (s *shards) lockAmong(set *wake.Set, start uint32) *shard {
	var first *shard
	word, words := int(start/wake.WordBits), s.ready.Words()
	ready := set.Of(&s.ready, word) &^ (1<<(start%wake.WordBits) - 1)
	for range words + 1 {
		for ; ready != 0; ready &= ready - 1 {
			sh := s.all[word*wake.WordBits+bits.TrailingZeros64(ready)].Load()
			if sh.tryLock() {
				return sh
			}
			if first == nil {
				first = sh
			}
		}
		if word++; word == words {
			word = 0
		}
		ready = set.Of(&s.ready, word)
	}
	if first != nil {
		first.lock()
	}
	return first
}

func ceilPowerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }
