package stats

import (
	"math"
	"time"
)

const (
	// pageBuckets is how many buckets a recorder allocates at once: a cache
	// line.
	pageBuckets   = 8
	recorderPages = 50 // that the buckets need; a test compares it
)

// A Recorder counts durations for a [Histogram]. It allocates only the buckets
// that are used, a few dozen as a rule. The zero Recorder is empty and ready to
// use. It must not be copied after first use, and is not safe for concurrent
// use.
type Recorder struct {
	zeros uint64 // most durations, with a coarse clock
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
	page := r.pages[i/pageBuckets]
	if page == nil {
		page = new([pageBuckets]uint64)
		r.pages[i/pageBuckets] = page
	}
	page[i%pageBuckets]++
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
			if n > 0 {
				h.counts[p*pageBuckets+i] += n
				h.Count += n
			}
		}
	}
}

// Sum returns a+b, neither negative, or [math.MaxInt64] if the sum is more.
func Sum(a, b time.Duration) time.Duration {
	return time.Duration(boundedSum(uint64(a), uint64(b)))
}

func boundedSum(a, b uint64) uint64 { return min(a+b, math.MaxInt64) }
