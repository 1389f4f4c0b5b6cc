package shard

import (
	"math/bits"

	"github.com/shardq/shardq/shard/internal/wake"
)

// showPriority is for several shards. The bitmap is made with the first priority.
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

// lockAmong prefers a ready shard of a set that nobody locked, or waits for the
// first.
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
