package shard

import (
	"math"
	"math/rand/v2"
	"time"
)

// mostLookedAt is about how many timers of a shard are looked at, if there are more.
const mostLookedAt = 1 << 16

// TimeLeft returns how much is left of the delays that are running, to the tick: nothing of those
// that are overdue. It takes the lock of a shard for at most 512 items at a time, about a
// microsecond, so that what it returns was not all so at one moment. Where more than 65,536 items of a
// shard wait, it looks at about that many, in parts of 512 that are chosen by chance, and takes them for all:
// the Count is that of all there, too.
func (s *Set[T]) TimeLeft() Histogram {
	h, counts := newHistogram(), make([]uint64, len(bucketBounds))
	for sh := range s.made() {
		t := timesLeft{base: &s.time, now: s.time.nanoseconds(), counts: counts}
		waiting := sh.lookAtDeadlines(&t)
		t.addTo(&h, waiting)
		clear(counts)
	}
	return h
}

// lookAtDeadlines looks at items that wait, and returns how many there are in all. If there are too many,
// the parts are dealt into runs of neighbours, and of each run one part is looked at, chosen by chance. (Parts at
// even distances might be those of one burst, or of none; and of parts chosen from all together, one
// half might have more than its share: that was wrong by 4 % where this is by less than 1 %.)
func (sh *shard[T]) lookAtDeadlines(t *timesLeft) (waiting int) {
	parts, waiting := sh.partsThatWait()
	width := max(1, float64(waiting)/mostLookedAt)
	var ticks []uint64
	for begin := 0.0; begin < float64(parts); begin += width {
		ticks = sh.deadlinesOf(int(begin+width*rand.Float64()), ticks[:0])
		t.add(ticks)
	}
	return waiting
}

// partsThatWait returns the number of parts of the shard's wheel, and of the items that wait.
func (sh *shard[T]) partsThatWait() (parts, waiting int) {
	sh.look(func() (visited int, more bool) {
		if sh.wheel != nil {
			parts, waiting = sh.wheel.Parts(), sh.wheel.Len()
		}
		return 0, false
	})
	return parts, waiting
}

func (sh *shard[T]) deadlinesOf(part int, ticks []uint64) []uint64 {
	sh.look(func() (visited int, more bool) {
		if sh.wheel != nil {
			ticks = sh.wheel.Deadlines(part, ticks)
		}
		return len(ticks), false
	})
	return ticks
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

// addTo adds what was counted to a histogram, as if it were of so many. It rounds the sums of the buckets up
// to each, rather than the buckets: so all of them together are what they should be.
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
