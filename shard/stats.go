package shard

import (
	"math/bits"
	"time"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/wake"
	"github.com/shardq/shardq/stats"
)

type tally struct {
	stats.Stats
	depths depths
}

// Stats returns a consistent reading of each shard, one after the other.
func (s *Core) Stats() stats.Stats {
	st, now := s.newStats()
	for sh := range s.shards.made() {
		sh.withLock(func() (visited int, more bool) { return sh.addStatsTo(&st, now), false })
	}
	st.finish(s)
	return st.Stats
}

func (s *Core) newStats() (st tally, now present) {
	_, held := s.throttled.read()
	st.Stats = stats.Stats{
		Shards:       len(s.shards.all),
		Rejected:     s.faults.rejected.Load(),
		Misused:      s.faults.misused.Load(),
		OverCapacity: s.limit.Exceeded(),
		Discarded:    s.faults.discarded.Load(),
		Throttled:    int(held),
		Capacity:     s.config.Capacity,
		Paused:       s.gate.paused.Load(),
		Closed:       s.gate.closed(),
		Parked:       s.parker.Parked(),
		ShuttingDown: s.ShuttingDown(),
		PerShard:     make([]stats.Shard, len(s.shards.all)),
	}
	if st.Paused {
		st.PausedSince = s.time.Moment(s.gate.since.Load())
	}
	if b := s.gate.bucket.Load(); b != nil {
		st.Rate = b.rate.Public()
	}
	if s.config.Ages {
		now = s.present()
	}
	if s.measures != nil {
		st.Metrics = s.shards.lanes.metrics()
	}
	return st, now
}

func (st *tally) finish(s *Core) {
	st.Priorities = st.depths.rows()
	first := uint64(never)
	for sh := range s.shards.made() {
		first = min(first, sh.next.Load())
	}
	if m := st.Metrics; m != nil {
		m.Depth = st.Ready + m.Dirty
		if end := s.inFlightAtEnd.Load(); end != nil {
			m.Unfinished, m.LongestRunning = end.Unfinished, end.LongestRunning
		}
	}
	if st.Delayed > 0 && first != never {
		st.NextDue = s.time.At(first)
	}
	if wait := s.driver.earliestWait(); wait != never && st.Ready > 0 {
		st.NextToken = s.time.At(wait)
	}
}

func (sh *shard) addStatsTo(st *tally, read present) (asked int) {
	now := sh.seen(read)
	info, asked := sh.shardInfo(now)
	st.PerShard[sh.number] = info
	st.Ready += info.Ready
	st.Processing += info.Processing
	st.Held += info.Held
	st.Delayed += info.Delayed
	asked += sh.addDepthsTo(&st.depths)
	groups, byRate, byPause := sh.line.Counts()
	st.Groups += groups
	st.ThrottledByRate += byRate
	st.ThrottledByPause += byPause
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

func (sh *shard) shardInfo(now uint64) (info stats.Shard, asked int) {
	info = stats.Shard{Ready: int(sh.line.Depth()), Processing: int(sh.line.Processing()), Added: sh.count.added}
	if sh.wheel != nil {
		info.Delayed = sh.wheel.Len()
	}
	if sh.table == nil {
		return info, 0
	}
	info.Held = int(sh.table.Live)
	if sh.set.config.Ages {
		info.OldestReady, asked = sh.oldestReady(now)
		info.OldestProcessing = sh.age(sh.table.times.inFlight.Head, now)
	}
	return info, asked
}

const mostGroupsAsked = 64

func (sh *shard) oldestReady(now uint64) (oldest time.Duration, asked int) {
	for head := range sh.line.Heads() {
		oldest = max(oldest, sh.age(head, now))
		if asked++; asked == mostGroupsAsked {
			break
		}
	}
	return oldest, asked
}

// CountDiscard counts an item that a worker has discarded.
func (s *Core) CountDiscard() { s.faults.discarded.Add(1) }

// Len returns the number of ready items. It locks only shards that have some.
func (s *Core) Len() (n int) {
	if _, throttled := s.throttled.read(); len(s.shards.all) == 1 || throttled > 0 { // the ready bits leave out throttled groups
		for sh := range s.shards.made() {
			n += sh.len()
		}
		return n
	}
	for word := range s.shards.ready.Words() {
		for ready := s.shards.ready.Word(word); ready != 0; ready &= ready - 1 {
			n += s.shard(word*wake.WordBits + bits.TrailingZeros64(ready)).len()
		}
	}
	return n
}

// Depth returns the number of ready and dirty items of a set with metrics.
func (s *Core) Depth() (n int) {
	for sh := range s.shards.made() {
		sh.lock()
		n += int(sh.line.Depth())
		if m := sh.measures(); m != nil {
			n += m.dirty
		}
		sh.unlock()
	}
	return n
}

// CountDirty adds the numbers of dirty items by priority. With ages, it holds
// each shard's lock while it visits the items of the shard in processing, about one
// for each consumer.
func (s *Core) CountDirty(by map[int]int) {
	for sh := range s.shards.made() {
		count := func(id uint32, e *items.Entry) {
			if e.Phase() == items.Dirty {
				by[sh.table.Requested.Run(id)]++
			}
		}
		if !s.config.Ages {
			sh.eachEntry(count, func() {})
			continue
		}
		sh.withLock(func() (visited int, more bool) {
			if sh.table != nil {
				sh.table.Walk(&sh.table.times.inFlight, func(id uint32) bool {
					count(id, sh.table.At(id))
					return true
				})
			}
			return 0, false
		})
	}
}

func (sh *shard) len() int {
	sh.lock()
	defer sh.unlock()
	return int(sh.line.Depth())
}
