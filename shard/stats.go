package shard

import "math/bits"

// counters count what happens in a shard, under its lock.
type counters struct {
	added, merged uint64
}

// rareCounters likewise count what happens seldom.
type rareCounters struct {
	fired, dropped, misused, canceled uint64
}

// Stats is a reading of a queue's state and counters. Each shard contributes a
// consistent reading of its own; between shards time passes.
type Stats struct {
	// Shards is the number of shards.
	Shards int
	// Ready is the number of ready items: what Len returns.
	Ready int
	// Waiting is the number of items whose delay is running.
	Waiting int
	// Processing is the number of items handed out and not yet Done.
	Processing int
	// Held is the number of different items that the queue holds, whatever their state:
	// what a capacity bounds. Those of them that are neither ready nor in processing
	// wait; of those that wait, some may be ready or in processing as well.
	Held int
	// Groups is the number of groups that have items, and HeldBack how many of them have
	// something ready and as much in processing as the limit allows. What is held back is
	// counted as ready, though a Get does not return it yet.
	Groups, HeldBack int
	// Added counts the adds that asked for a run: the item was neither ready
	// nor marked to run again. Delays that ended count when they end.
	Added uint64
	// Merged counts the adds that were served by a run to come anyway.
	Merged uint64
	// Fired counts the delays that ended.
	Fired uint64
	// Dropped counts adds after a shutdown began, and the items that waited
	// when it began.
	Dropped uint64
	// Canceled counts the calls of Cancel that took something back.
	Canceled uint64
	// Exceeded counts the items that Add and the like took in beyond the capacity.
	Exceeded uint64
	// Rejected counts items that are not equal to themselves.
	Rejected uint64
	// Misused counts the Dones of items that were not in processing.
	Misused uint64
}

// Stats returns a reading. It locks one shard after the other, briefly.
func (s *Set[T]) Stats() Stats {
	stats := s.newStats()
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.addLockedTo(&stats)
		sh.mu.Unlock()
	}
	return stats
}

// newStats returns what is counted without a lock.
func (s *Set[T]) newStats() Stats {
	_, held := s.heldBack.read()
	return Stats{Shards: len(s.shards), Rejected: s.rejected.Load(), Exceeded: s.room.Exceeded(), HeldBack: int(held)}
}

func (sh *shard[T]) addLockedTo(stats *Stats) {
	stats.Ready += int(sh.ready())
	stats.Processing += int(sh.processing)
	if sh.table != nil {
		stats.Held += int(sh.table.live)
	}
	if sh.groups != nil {
		stats.Groups += int(sh.groups.names.live)
	}
	if sh.wheel != nil {
		stats.Waiting += sh.wheel.Len()
	}
	stats.Added += sh.count.added
	stats.Merged += sh.count.merged
	stats.Fired += sh.rare.fired
	stats.Dropped += sh.rare.dropped
	stats.Misused += sh.rare.misused
	stats.Canceled += sh.rare.canceled
}

// Len returns the number of ready items. It looks only at shards that have some;
// its cost grows with their number.
func (s *Set[T]) Len() int {
	switch {
	case len(s.shards) == 1:
		return s.shards[0].length()
	case s.group != nil: // a shard may have something ready that is held back
		return s.Stats().Ready
	}
	n := 0
	for word := range s.readyBits {
		for ready := s.readyBits[word].Load(); ready != 0; ready &= ready - 1 {
			n += s.shards[word*64+bits.TrailingZeros64(ready)].length()
		}
	}
	return n
}

func (sh *shard[T]) length() int {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return int(sh.ready())
}
