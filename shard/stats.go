package shard

import (
	"math/bits"
	"time"
)

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
	// GivenUp counts the items that workers gave up, but for those that the end of the queue left
	// undone.
	GivenUp uint64
	// Capacity is how many items the queue may hold for those who ask for room; 0 is no
	// bound.
	Capacity int
	// Limited is how many items the limiter has a history of failures of; -1 if it does not
	// say.
	Limited int
	// Parked is the number of consumers that sleep until something is ready, and Workers
	// how many goroutines work in a Run.
	Parked, Workers int
	// ShuttingDown: a shutdown has begun.
	ShuttingDown bool
	// NextDue is when the next delay ends, to the tick, or not before, if that was canceled
	// or put off; zero if nothing waits.
	NextDue time.Time
	// PerShard has the parts of the shards, by their numbers.
	PerShard []ShardInfo
	// Metrics has what is counted and measured beside; nil unless that is asked for.
	Metrics *Metrics
	// Values has what a Coalescer has beside its queue of keys; nil for other queues.
	Values *Values
}

// Values are what a Coalescer has beside its queue of keys.
type Values struct {
	// Keys is the number of keys with a pending value.
	Keys int
	// Weight is what the pending values weigh: as much as there are keys, unless values are
	// weighed. If that is more than an int can hold, as it may be on 32-bit platforms,
	// Weight is the greatest int. Capacity is how much that may be for those who ask for
	// room; 0 is no bound.
	Weight, Capacity int
	// Put counts the values that were put and taken in, and Merged those of them whose key had
	// a pending value.
	Put, Merged uint64
	// Exceeded counts how often the capacity was exceeded: by a Put, by a value that was given
	// back, or by values that weigh more since they were merged, so that one Put may count more than
	// once. What was let in because nothing else was pending does not count.
	Exceeded uint64
}

// ShardInfo is what a queue knows of one of its shards.
type ShardInfo struct {
	// Ready, Processing, Waiting and Held are as in [Stats].
	Ready, Processing, Waiting, Held int
	// Added counts the adds that asked for a run.
	Added uint64
	// OldestReady is for how long the item has been ready that is at the head of the line
	// (with priorities, of that of the highest; with groups, of the lines of some that are
	// next in turn or held back, sixty-four at most), and OldestProcessing for how long the
	// longest has been in processing, both to the tick; 0 if there is none, or no ages
	// are kept.
	OldestReady, OldestProcessing time.Duration
}

// Skew returns how much the busiest shard was added, divided by the mean of all shards: 1 if
// all are alike, and as much as there are shards if all goes to one; 0 if nothing was added.
func (s *Stats) Skew() float64 {
	busiest := uint64(0)
	for i := range s.PerShard {
		busiest = max(busiest, s.PerShard[i].Added)
	}
	if s.Added == 0 {
		return 0
	}
	return float64(busiest) * float64(len(s.PerShard)) / float64(s.Added)
}

// Metrics are what is counted and measured only if it is asked for. The seven series of
// client-go's workqueue are Depth, Stats.Added, QueueDuration, WorkDuration, Unfinished,
// LongestRunning, and Retries, with the meanings that they have there.
type Metrics struct {
	// Depth is the number of items that are ready, or will be at their Done, for they were
	// added while they are in processing.
	Depth int
	// Dirty is how many of them are in processing.
	Dirty int
	// Retries counts the adds that came with a delay or asked for one, also if that was zero
	// or less, and BackedOff those of them that asked the limiter, for work that failed. Once
	// a shutdown has begun, neither is counted.
	Retries, BackedOff uint64
	// QueueDuration is how long items were asked for before they were handed out: since
	// the first of the adds that the run serves, including the time behind their own
	// processing.
	QueueDuration Histogram
	// WorkDuration is how long items were in processing, noted at their Done.
	WorkDuration Histogram
	// Delay is how long the delays were that were asked for, as far as they were longer than
	// zero. Of an item that waits already, each call counts.
	Delay Histogram
	// Unfinished is for how long the items in processing have been that, together, or
	// [math.MaxInt64], 292 years, if that is more; and LongestRunning for how long the longest has. Once a shutdown has begun they do not
	// change any more, as in client-go: see ShardInfo.OldestProcessing.
	Unfinished, LongestRunning time.Duration
}

// Stats returns a reading. It locks one shard after the other, briefly.
func (s *Set[T]) Stats() Stats {
	stats, now := s.newStats()
	for sh := range s.made() {
		sh.look(func() (visited int, more bool) { return sh.addStatsTo(&stats, now), false })
	}
	s.finish(&stats)
	return stats
}

// newStats returns what is counted without a lock, and the present, if ages are kept.
func (s *Set[T]) newStats() (stats Stats, now present) {
	_, held := s.heldBack.read()
	stats = Stats{
		Shards:       len(s.shards),
		Rejected:     s.rejected.Load(),
		Exceeded:     s.limit.Exceeded(),
		GivenUp:      s.givenUp.Load(),
		HeldBack:     int(held),
		Parked:       int(s.lot.parked.Load()),
		ShuttingDown: s.ShuttingDown(),
		PerShard:     make([]ShardInfo, len(s.shards)),
	}
	if s.ages {
		now = s.present()
	}
	if s.measures != nil {
		stats.Metrics = s.newMetrics()
	}
	return stats, now
}

// finish adds what is known when all shards were looked at.
func (s *Set[T]) finish(stats *Stats) {
	first := uint64(never)
	for sh := range s.made() {
		first = min(first, sh.next.Load())
	}
	if m := stats.Metrics; m != nil {
		m.Depth = stats.Ready + m.Dirty
		if end := s.inFlightAtEnd.Load(); end != nil {
			m.Unfinished, m.LongestRunning = end.together, end.longest
		}
	}
	if stats.Waiting > 0 && first != never {
		stats.NextDue = s.time.at(first)
	}
}

// addStatsTo adds the shard's part to the stats. It returns how many groups it asked.
func (sh *shard[T]) addStatsTo(stats *Stats, read present) (asked int) {
	now := sh.seen(read)
	info, asked := sh.shardInfo(now)
	stats.PerShard[sh.number] = info
	stats.Ready += info.Ready
	stats.Processing += info.Processing
	stats.Held += info.Held
	stats.Waiting += info.Waiting
	if sh.groups != nil {
		stats.Groups += int(sh.groups.names.live)
	}
	stats.Added += sh.count.added
	stats.Merged += sh.count.merged
	stats.Fired += sh.rare.fired
	stats.Dropped += sh.rare.dropped
	stats.Misused += sh.rare.misused
	stats.Canceled += sh.rare.canceled
	if stats.Metrics != nil {
		sh.addMeasuresTo(stats.Metrics, now)
	}
	return asked
}

// shardInfo returns what there is to know of the shard.
func (sh *shard[T]) shardInfo(now uint64) (info ShardInfo, asked int) {
	info = ShardInfo{Ready: int(sh.depth()), Processing: int(sh.processing()), Added: sh.count.added}
	if sh.wheel != nil {
		info.Waiting = sh.wheel.Len()
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

// mostGroupsAsked is how many groups are asked for their oldest item: there may be very many.
const mostGroupsAsked = 64

// oldestReady returns for how long the oldest has been ready of those at the heads of lines.
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

// age returns for how long an entry has been in its state; 0 if there is none.
func (sh *shard[T]) age(id uint32, now uint64) time.Duration {
	if id == 0 {
		return 0
	}
	return elapsed(sh.table.times.of(id), now)
}

// GiveUp counts an item that was given up.
func (s *Set[T]) GiveUp() { s.givenUp.Add(1) }

// Len returns the number of ready items. It looks only at shards that have some;
// its cost grows with their number.
func (s *Set[T]) Len() (n int) {
	switch {
	case len(s.shards) == 1:
		return s.shard(0).length()
	case s.group != nil: // a shard may have something ready that is held back
		for sh := range s.made() {
			n += sh.length()
		}
		return n
	}
	for word := range s.readyWords() {
		for ready := s.readyWord(word); ready != 0; ready &= ready - 1 {
			n += s.shard(word*wordBits + bits.TrailingZeros64(ready)).length()
		}
	}
	return n
}

// length is Len of the shard. It takes the lock.
func (sh *shard[T]) length() int {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return int(sh.depth())
}
