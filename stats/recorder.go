package stats

import (
	"math"
	"time"
)

const (
	pageBuckets   = 8  // that a recorder allocates at once: a cache line
	recorderPages = 50 // that the buckets need; a test compares it
)

// A Recorder counts durations for a [Histogram]. It must not be copied after
// first use, and is not safe for concurrent use.
type Recorder struct {
	zeros uint64 // the durations of zero: with a coarse clock, most are
	sum   uint64
	pages *[recorderPages]*[pageBuckets]uint64
}

// Record counts the duration between two moments, which are in nanoseconds. If
// to is before from, because the clock was set back, the duration is zero.
func (r *Recorder) Record(from, to uint64) {
	if to <= from {
		r.zeros++
		return
	}
	r.recordLong(to - from)
}

func (r *Recorder) recordLong(d uint64) {
	d = min(d, math.MaxInt64) // a clock may be set back, and then far forward
	i := bucketOf(d)
	if r.pages == nil {
		r.pages = new([recorderPages]*[pageBuckets]uint64)
	}
	if page := &r.pages[i/pageBuckets]; *page == nil {
		*page = new([pageBuckets]uint64)
	}
	r.pages[i/pageBuckets][i%pageBuckets]++
	r.sum = boundedSum(r.sum, d)
}

// Empty reports whether no duration was recorded.
func (r *Recorder) Empty() bool { return r.zeros == 0 && r.pages == nil }

// AddTo adds the recorded durations to h.
func (r *Recorder) AddTo(h *Histogram) {
	h.init()
	h.Sum = Sum(h.Sum, time.Duration(r.sum))
	h.Count += r.zeros
	h.counts[0] += r.zeros
	if r.pages == nil {
		return
	}
	for p, page := range r.pages {
		if page == nil {
			continue
		}
		for i, n := range page {
			if n > 0 { // the last page has room for more than there are buckets
				h.counts[p*pageBuckets+i] += n
				h.Count += n
			}
		}
	}
}

// Sum returns a+b, or [math.MaxInt64] if that is more. Neither may be negative.
func Sum(a, b time.Duration) time.Duration {
	return time.Duration(boundedSum(uint64(a), uint64(b)))
}

func boundedSum(a, b uint64) uint64 { return min(a+b, math.MaxInt64) }

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

// AddTo adds the sample to h as if it had population durations, of the same
// distribution. It rounds the cumulative counts rather than those of the
// buckets, so h.Count grows by exactly population. An empty sample adds
// nothing.
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
	h.Sum = time.Duration(boundedSum(uint64(h.Sum), uint64(min(s.sum*scale, math.MaxInt64))))
}
