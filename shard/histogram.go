package shard

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"
)

// A Histogram counts durations by their lengths. Its buckets are those of a native
// histogram of Prometheus of schema 3, eight to each doubling, so that a quantile is right
// to 9 %; and each power of ten of a second from 10 ns to 1000 s is a bound, too, so that the buckets of
// controller-runtime can be had from it exactly. The zero Histogram is empty. It is a
// reading, and does not change.
type Histogram struct {
	// Count is the number of durations, and Sum what they are together, or
	// [math.MaxInt64], 292 years, if that is more.
	Count uint64
	Sum   time.Duration
	// counts has the number of durations in each bucket.
	counts []uint64
}

// Buckets returns an iterator over the buckets that are not empty, in the order of their
// lengths: the greatest duration that belongs in a bucket, and how many there are in it. The last
// bucket's greatest duration is [math.MaxInt64].
func (h Histogram) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, n := range h.counts {
			if n > 0 && !yield(bucketBounds[i], n) {
				return
			}
		}
	}
}

// AtMost returns how many durations were not longer than bound: exactly, if bound is a bound
// of the buckets, and otherwise those in the buckets that lie below it as a whole.
func (h Histogram) AtMost(bound time.Duration) (n uint64) {
	for i, count := range h.counts {
		if bucketBounds[i] > bound {
			break
		}
		n += count
	}
	return n
}

// Quantile returns a duration that the given part of all durations does not exceed, 0 to 1:
// the upper bound of the bucket in which it lies, which is [math.MaxInt64] beyond
// twelve days, 2²⁰ s, where the last begins. It is 0 if there are none.
func (h Histogram) Quantile(q float64) time.Duration {
	if !(q >= 0) { // or NaN
		q = 0
	}
	want := uint64(math.Ceil(min(q, 1) * float64(h.Count)))
	seen, last := uint64(0), time.Duration(0)
	for i, n := range h.counts {
		if n == 0 {
			continue
		}
		last = bucketBounds[i]
		if seen += n; seen >= want {
			break
		}
	}
	return last
}

// Mean returns the mean of the durations; 0 if there are none.
func (h Histogram) Mean() time.Duration {
	if h.Count == 0 {
		return 0
	}
	return time.Duration(float64(h.Sum) / float64(h.Count))
}

// String tells the count, the mean, and some quantiles.
func (h Histogram) String() string {
	return fmt.Sprintf("%d, mean %v, p50 %s, p90 %s, p99 %s", h.Count, h.Mean(), h.written(0.5), h.written(0.9), h.written(0.99))
}

// written returns a quantile as a text.
func (h Histogram) written(q float64) string {
	if d := h.Quantile(q); d != math.MaxInt64 {
		return d.String()
	}
	return "> " + bucketBounds[len(bucketBounds)-2].String()
}

// known returns a quantile, or nil if it is beyond the last bound.
func (h Histogram) known(q float64) *time.Duration {
	if d := h.Quantile(q); d != math.MaxInt64 {
		return &d
	}
	return nil
}

// MarshalJSON writes the histogram as an object: Count, Sum, Mean, the quantiles P50, P90 and
// P99, which are null beyond 2²⁰ s, and the Buckets that are not empty, each with AtMost and Count.
// Durations are in nanoseconds.
func (h Histogram) MarshalJSON() ([]byte, error) {
	type bucket struct {
		AtMost time.Duration
		Count  uint64
	}
	written := struct {
		Count         uint64
		Sum, Mean     time.Duration
		P50, P90, P99 *time.Duration
		Buckets       []bucket
	}{h.Count, h.Sum, h.Mean(), h.known(0.5), h.known(0.9), h.known(0.99), []bucket{}}
	for bound, n := range h.Buckets() {
		written.Buckets = append(written.Buckets, bucket{bound, n})
	}
	return json.Marshal(written)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var written struct {
		Count   uint64
		Sum     time.Duration
		Buckets []struct {
			AtMost time.Duration
			Count  uint64
		}
	}
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	*h = newHistogram()
	h.Count, h.Sum = written.Count, written.Sum
	for _, b := range written.Buckets {
		h.counts[bucketOf(uint64(max(0, b.AtMost)))] += b.Count
	}
	return nil
}

// Since returns what has been counted since an earlier reading of the same histogram.
func (h Histogram) Since(earlier Histogram) Histogram {
	later := Histogram{Count: h.Count - earlier.Count, Sum: h.Sum - earlier.Sum, counts: slices.Clone(h.counts)}
	for i, n := range earlier.counts[:min(len(earlier.counts), len(later.counts))] {
		later.counts[i] -= n
	}
	return later
}

// The buckets reach from 2⁻³⁰ s, a nanosecond, to 2²⁰ s, twelve days; what is longer is in
// the last.
const (
	lowestPower, highestPower = -30, 20
	perDoubling               = 8
)

// bucketBounds has the greatest duration of each bucket.
var bucketBounds = makeBounds() // len is checked by a test

func makeBounds() (bounds []time.Duration) {
	for i := lowestPower * perDoubling; i <= highestPower*perDoubling; i++ {
		// A duration is a whole number of nanoseconds: it is within a bound if it is within
		// the whole ones of that.
		bounds = append(bounds, time.Duration(math.Floor(1e9*math.Exp2(float64(i)/perDoubling))))
	}
	for decade := 10 * time.Nanosecond; decade <= 1000*time.Second; decade *= 10 {
		bounds = append(bounds, decade)
	}
	slices.Sort(bounds)
	return append(slices.Compact(bounds), math.MaxInt64)
}

// firstBuckets says where to begin to look for a duration, by the place of its highest bit
// and the four bits below that: a step or two from there is its bucket.
var firstBuckets = makeFirstBuckets()

const cellsPerBit = 16

func makeFirstBuckets() (first [64 * cellsPerBit]uint16) {
	for cell := 1; cell < len(first); cell++ { // the first is that of 0, too
		bit, fraction := cell/cellsPerBit, cell%cellsPerBit
		least := math.Ldexp(1+float64(fraction)/cellsPerBit, bit)
		for float64(bucketBounds[first[cell]]) < least && int(first[cell]) < len(bucketBounds)-1 {
			first[cell]++
		}
	}
	return first
}

// bucketOf returns the number of the bucket of a duration, which is 0 or more.
func bucketOf(d uint64) int {
	bit := bits.Len64(d|1) - 1
	fraction := d << (63 - bit) >> (63 - 4) & (cellsPerBit - 1)
	i := int(firstBuckets[bit*cellsPerBit+int(fraction)])
	for d > uint64(bucketBounds[i]) {
		i++
	}
	return i
}

// pageBuckets is how many buckets a recorder allocates at once, a cache line, and recorderPages
// as many as the buckets want: a test checks that.
const (
	pageBuckets   = 8
	recorderPages = 50
)

// A recorder is a histogram that grows. It allocates those buckets only that are used: as a rule some
// dozens of the four hundred.
type recorder struct {
	// zeros counts those of no length, as most are that begin and end by one reading of the
	// clock.
	zeros uint64
	sum   uint64
	pages *[recorderPages]*[pageBuckets]uint64
}

// record counts the duration from one moment in nanoseconds to another; none, if that comes
// first, for the clock was set back.
func (r *recorder) record(from, to uint64) {
	if to <= from {
		r.zeros++
		return
	}
	r.recordLong(to - from)
}

func (r *recorder) recordLong(d uint64) {
	d = min(d, math.MaxInt64) // for a clock may be set back, and then forward by as much as there is
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

// boundedSum returns the sum of two that are durations, or the longest duration: delays may
// be so long that two of them are more.
func boundedSum(a, b uint64) uint64 { return min(a+b, math.MaxInt64) }

func newHistogram() Histogram { return Histogram{counts: make([]uint64, len(bucketBounds))} }

// addTo adds what was recorded to a histogram.
func (r *recorder) addTo(h *Histogram) {
	h.Sum = time.Duration(boundedSum(uint64(h.Sum), r.sum))
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
