package stats

import (
	"math"
	"time"
)

// A Sample estimates the [Histogram] of many durations from some of them. The
// zero Sample is empty and ready to use. It is not safe for concurrent use.
type Sample struct {
	counts []uint64
	seen   uint64
	sum    float64
}

// Add counts a duration, which must not be negative.
func (s *Sample) Add(d time.Duration) {
	if s.counts == nil {
		s.counts = make([]uint64, len(bucketBounds))
	}
	s.counts[bucketOf(uint64(d))]++
	s.seen++
	s.sum += float64(d)
}

// Reset makes the sample empty, and keeps its memory.
func (s *Sample) Reset() {
	clear(s.counts)
	s.seen, s.sum = 0, 0
}

// AddTo adds the sample to h, scaled to a population of that many durations. It
// rounds the cumulative counts rather than those of the buckets, so h.Count
// grows by exactly population. An empty sample adds nothing.
func (s *Sample) AddTo(h *Histogram, population int) {
	if s.seen == 0 {
		return
	}
	h.init()
	scale := float64(population) / float64(s.seen)
	seen, given := uint64(0), uint64(0)
	for i, n := range s.counts {
		seen += n
		scaled := uint64(math.Round(float64(seen) * scale))
		h.counts[i] += scaled - given
		given = scaled
	}
	h.Count += given
	if sum := s.sum * scale; sum < math.MaxInt64 {
		h.Sum = Sum(h.Sum, time.Duration(sum))
	} else {
		h.Sum = math.MaxInt64
	}
}
