package shard

import (
	"math/bits"
	"time"

	"github.com/shardq/shardq/stats"
)

// counters count what happens in a shard, under its lock.
type counters struct {
	added, deduplicated uint64
}

// rareCounters count what happens rarely.
type rareCounters struct {
	expired, dropped, misused, canceled uint64
}

// Stats is a reading of a set's state and counters. Each shard contributes a
// consistent reading of its own. Time passes between the shards.
type Stats struct {
	// Shards is the number of shards.
	Shards int
	// Ready, Processing, Delayed and Held count items, as in [stats.Shard].
	Ready, Delayed, Processing, Held int
	// Groups is the number of groups that have items. Throttled is the number
	// of those that have ready items of which none is handed out, and
	// ThrottledByRate and ThrottledByPause the numbers of those that wait for a
	// token or are paused.
	Groups, Throttled, ThrottledByRate, ThrottledByPause int
	// Paused reports that the set is paused, and Rate is its rate.
	Paused bool
	Rate   stats.Rate
	// Added counts the adds that asked for a run, and Deduplicated those that a
	// run to come serves anyway.
	Added, Deduplicated uint64
	// Expired counts the delays that expired.
	Expired uint64
	// Dropped counts adds after a shutdown began, and the items whose delay the
	// shutdown ended.
	Dropped uint64
	// Canceled counts the calls of Cancel that canceled something.
	Canceled uint64
	// OverCapacity counts the items that were added beyond the capacity.
	OverCapacity uint64
	// Rejected counts items that are not equal to themselves.
	Rejected uint64
	// Misused counts the Dones of items that were not in processing.
	Misused uint64
	// Discarded counts the calls of [Set.CountDiscard].
	Discarded uint64
	// Parked is the number of parked consumers.
	Parked int
	// ShuttingDown reports that a shutdown has begun.
	ShuttingDown bool
	// NextDue is when the next delay expires, to the tick.
	//
	// It is zero if no delay is running.
	NextDue time.Time
	// Closed reports that the set hands out nothing now, because it is paused
	// or its rate is reached.
	Closed bool
	// NextToken is the earliest tick at which the set or a throttled group gets
	// a token of its rate, or at which the pause of a group ends. It may be too
	// early.
	//
	// It is zero if nothing waits for that.
	NextToken time.Time
	// PerShard has the parts of the shards, by their numbers.
	PerShard []stats.Shard
	// Priorities counts the ready items by priority, the highest first. It is
	// nil while all items have the priority 0, or there are more than
	// mostLevelsCounted levels in a shard.
	Priorities []stats.Priority
	// Metrics is nil unless metrics are kept.
	Metrics *stats.Metrics

	depths depths
}

// Stats returns a reading. It locks one shard after the other.
func (s *Set[T]) Stats() Stats {
	st, now := s.newStats()
	for sh := range s.made() {
		s.withLock(sh, func() (visited int, more bool) { return sh.addStatsTo(&st, now), false })
	}
	s.finish(&st)
	return st
}

// newStats returns what is counted without a lock. It also returns the present,
// if ages are kept.
func (s *Set[T]) newStats() (st Stats, now present) {
	_, held := s.throttled.read()
	st = Stats{
		Shards:       len(s.shards),
		Rejected:     s.rejected.Load(),
		OverCapacity: s.limit.Exceeded(),
		Discarded:    s.discarded.Load(),
		Throttled:    int(held),
		Paused:       s.gate.paused.Load(),
		Closed:       s.gate.closed(),
		Parked:       int(s.parker.parked.Load()),
		ShuttingDown: s.ShuttingDown(),
		PerShard:     make([]stats.Shard, len(s.shards)),
	}
	if b := s.gate.bucket.Load(); b != nil {
		st.Rate = b.rate.public()
	}
	if s.ages {
		now = s.present()
	}
	if s.measures != nil {
		st.Metrics = s.newMetrics()
	}
	return st, now
}

// finish completes the reading after all shards were read.
func (s *Set[T]) finish(st *Stats) {
	st.Priorities, st.depths = st.depths.rows(), depths{}
	first := uint64(never)
	for sh := range s.made() {
		first = min(first, sh.next.Load())
	}
	if m := st.Metrics; m != nil {
		m.Depth = st.Ready + m.Dirty
		if end := s.inFlightAtEnd.Load(); end != nil {
			m.Unfinished, m.LongestRunning = end.together, end.longest
		}
	}
	if st.Delayed > 0 && first != never {
		st.NextDue = s.time.at(first)
	}
	if wait := s.earliestWait(); wait != never && st.Ready > 0 {
		st.NextToken = s.time.at(wait)
	}
}

// addStatsTo adds the shard's reading. It returns the number of groups and
// levels that it asked.
func (sh *shard[T]) addStatsTo(st *Stats, read present) (asked int) {
	now := sh.seen(read)
	info, asked := sh.shardInfo(now)
	st.PerShard[sh.number] = info
	st.Ready += info.Ready
	st.Processing += info.Processing
	st.Held += info.Held
	st.Delayed += info.Delayed
	asked += sh.addDepthsTo(&st.depths)
	if sh.groups != nil {
		st.Groups += int(sh.groups.names.live - sh.groups.vacant)
		st.ThrottledByRate += int(sh.groups.throttledBy[stats.ThrottledByRate])
		st.ThrottledByPause += int(sh.groups.throttledBy[stats.ThrottledByPause])
	}
	st.Added += sh.count.added
	st.Deduplicated += sh.count.deduplicated
	st.Expired += sh.rare.expired
	st.Dropped += sh.rare.dropped
	st.Misused += sh.rare.misused
	st.Canceled += sh.rare.canceled
	if st.Metrics != nil {
		sh.addMeasuresTo(st.Metrics, now)
	}
	return asked
}

// shardInfo returns the counts of the shard.
func (sh *shard[T]) shardInfo(now uint64) (info stats.Shard, asked int) {
	info = stats.Shard{Ready: int(sh.depth()), Processing: int(sh.processing()), Added: sh.count.added}
	if sh.wheel != nil {
		info.Delayed = sh.wheel.Len()
	}
	if sh.table == nil {
		return info, 0
	}
	info.Held = int(sh.table.live)
	if sh.set.ages {
		info.OldestReady, asked = sh.oldestReady(now)
		info.OldestProcessing = sh.age(sh.table.times.inFlight.head, now)
	}
	return info, asked
}

// mostGroupsAsked limits the groups that are asked for their oldest item.
const mostGroupsAsked = 64

// oldestReady returns how long the oldest item at the head of a run queue has
// been ready.
func (sh *shard[T]) oldestReady(now uint64) (oldest time.Duration, asked int) {
	if sh.groups == nil {
		return sh.age(sh.ready.fifo.head, now), 1
	}
	for id := range sh.groups.inOrder() {
		oldest = max(oldest, sh.age(sh.groups.at(id).ready.fifo.head, now))
		if asked++; asked == mostGroupsAsked {
			break
		}
	}
	return oldest, asked
}

// age returns how long an entry has been in its state, or 0 if id is 0.
func (sh *shard[T]) age(id uint32, now uint64) time.Duration {
	if id == 0 {
		return 0
	}
	return elapsed(sh.table.times.of(id), now)
}

// CountDiscard counts an item that was discarded because its attempts were
// exhausted.
func (s *Set[T]) CountDiscard() { s.discarded.Add(1) }

// Len returns the number of ready items. It locks only the shards that have
// some, so its cost grows with their number.
func (s *Set[T]) Len() (n int) {
	switch {
	case len(s.shards) == 1:
		return s.lenOf(s.shard(0))
	case s.group != nil: // the ready bits leave out throttled groups
		for sh := range s.made() {
			n += s.lenOf(sh)
		}
		return n
	}
	for word := range s.readyWords() {
		for ready := s.readyWord(word); ready != 0; ready &= ready - 1 {
			n += s.lenOf(s.shard(word*wordBits + bits.TrailingZeros64(ready)))
		}
	}
	return n
}

// lenOf returns the number of ready items of a shard.
func (s *Set[T]) lenOf(sh *shard[T]) int {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return int(sh.depth())
}
