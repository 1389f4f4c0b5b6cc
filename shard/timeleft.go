package shard

import (
	"math"
	"math/rand/v2"
	"time"
)

// mostParts is how many parts of a shard's wheel are looked at: 65,536 timers.
const mostParts = 128

// TimeLeft returns how much is left of the delays that are running, to the tick: nothing of those
// that are overdue. It takes the lock of a shard for at most 512 items at a time, about a
// microsecond, so that what it returns was not all so at one moment. Where a shard has room for
// more than 65,536 that wait, it looks at as many, evenly spread, and takes them for all: the Count
// is that of all there, too.
func (s *Set[T]) TimeLeft() Histogram {
	h, counts := newHistogram(), make([]uint64, len(bucketBounds))
	for i := range s.shards {
		t := timesLeft{base: &s.time, now: s.time.nanoseconds(), counts: counts}
		waiting := s.shards[i].sampleDeadlines(t.add)
		t.addTo(&h, waiting)
		clear(counts)
	}
	return h
}

// sampleDeadlines calls add with the deadlines of items that wait, while it holds no lock, and
// returns how many there are in all.
func (sh *shard[T]) sampleDeadlines(add func(ticks []uint64)) (waiting int) {
	parts, waiting := sh.partsThatWait()
	step := (len(parts) + mostParts - 1) / mostParts
	if step == 0 {
		return waiting
	}
	var ticks []uint64
	for i := rand.IntN(step); i < len(parts); i += step {
		ticks = sh.deadlinesOf(parts[i], ticks[:0])
		add(ticks)
	}
	return waiting
}

// partsThatWait returns the parts of the shard's wheel, and how many items wait.
func (sh *shard[T]) partsThatWait() (parts []int, waiting int) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.wheel == nil {
		return nil, 0
	}
	return sh.wheel.Parts(nil), sh.wheel.Len()
}

func (sh *shard[T]) deadlinesOf(part int, ticks []uint64) []uint64 {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.wheel == nil {
		return ticks
	}
	return sh.wheel.Deadlines(part, ticks)
}

// timesLeft counts how much is left of some of a shard's delays.
type timesLeft struct {
	base   *timebase
	now    uint64
	counts []uint64
	seen   uint64
	sum    float64
}

func (t *timesLeft) add(ticks []uint64) {
	for _, tick := range ticks {
		left := t.base.left(t.now, tick)
		t.counts[bucketOf(uint64(left))]++
		t.sum += float64(left)
	}
	t.seen += uint64(len(ticks))
}

// addTo adds what was counted to a histogram, as if it were of so many. Parts of the sums are
// rounded, not of the buckets: so all of it together is what it should be.
func (t *timesLeft) addTo(h *Histogram, waiting int) {
	if t.seen == 0 {
		return
	}
	scale := float64(waiting) / float64(t.seen)
	seen, given := uint64(0), uint64(0)
	for i, n := range t.counts {
		seen += n
		upToHere := uint64(math.Round(float64(seen) * scale))
		h.counts[i] += upToHere - given
		given = upToHere
	}
	h.Count += given
	if sum := t.sum * scale; sum < math.MaxInt64 {
		h.Sum = bounded(h.Sum, time.Duration(sum))
	} else {
		h.Sum = math.MaxInt64
	}
}
