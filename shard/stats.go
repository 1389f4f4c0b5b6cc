package shard

import (
	"math/bits"
	"time"

	"github.com/shardq/shardq/stats"
)

type counters struct {
	added, deduplicated uint64
}

type rareCounters struct {
	expired, dropped, canceled uint64
	done                       uint64 // a multiple of 256: see countDone
}

type tally struct {
	stats.Stats
	depths depths
}

// Stats returns a consistent reading of each shard, one after the other.
func (s *Set[T]) Stats() stats.Stats {
	st, now := s.newStats()
	for sh := range s.made() {
		s.withLock(sh, func() (visited int, more bool) { return sh.addStatsTo(&st, now), false })
	}
	s.finish(&st)
	return st.Stats
}

func (s *Set[T]) newStats() (st tally, now present) {
	_, held := s.throttled.read()
	st.Stats = stats.Stats{
		Shards:       len(s.shards),
		Rejected:     s.rejected.Load(),
		Misused:      s.misused.Load(),
		OverCapacity: s.limit.Exceeded(),
		Discarded:    s.discarded.Load(),
		Throttled:    int(held),
		Capacity:     s.config.Capacity,
		Paused:       s.gate.paused.Load(),
		Closed:       s.gate.closed(),
		Parked:       int(s.parker.parked.Load()),
		ShuttingDown: s.ShuttingDown(),
		PerShard:     make([]stats.Shard, len(s.shards)),
	}
	if b := s.gate.bucket.Load(); b != nil {
		st.Rate = b.rate.public()
	}
	if s.config.Ages {
		now = s.present()
	}
	if s.measures != nil {
		st.Metrics = s.newMetrics()
	}
	return st, now
}

func (s *Set[T]) finish(st *tally) {
	st.Priorities = st.depths.rows()
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

// addStatsTo returns the number of groups and levels that it asked.
func (sh *shard[T]) addStatsTo(st *tally, read present) (asked int) {
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
	st.Done += sh.rare.done + uint64(sh.done)
	st.Canceled += sh.rare.canceled
	if st.Metrics != nil {
		sh.addMeasuresTo(st.Metrics, now)
	}
	return asked
}

func (sh *shard[T]) shardInfo(now uint64) (info stats.Shard, asked int) {
	info = stats.Shard{Ready: int(sh.depth()), Processing: int(sh.processing()), Added: sh.count.added}
	if sh.wheel != nil {
		info.Delayed = sh.wheel.Len()
	}
	if sh.table == nil {
		return info, 0
	}
	info.Held = int(sh.table.live)
	if sh.set.config.Ages {
		info.OldestReady, asked = sh.oldestReady(now)
		info.OldestProcessing = sh.age(sh.table.times.inFlight.head, now)
	}
	return info, asked
}

const mostGroupsAsked = 64

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

func (sh *shard[T]) age(id uint32, now uint64) time.Duration {
	if id == 0 {
		return 0
	}
	return elapsed(sh.table.times.of(id), now)
}

// CountDiscard counts an item whose attempts were exhausted.
func (s *Set[T]) CountDiscard() { s.discarded.Add(1) }

// Len returns the number of ready items. It locks only shards that have some.
func (s *Set[T]) Len() (n int) {
	if len(s.shards) == 1 || s.config.Group != nil { // the ready bits leave out throttled groups
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

func (s *Set[T]) lenOf(sh *shard[T]) int {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return int(sh.depth())
}
