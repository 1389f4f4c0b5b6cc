package stats

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"
)

// A Histogram counts durations by their lengths: see the package documentation
// for its buckets. It is a reading, and does not change. The zero Histogram is
// empty.
type Histogram struct {
	// Count is the number of durations, and Sum all of them added together, at
	// most [math.MaxInt64].
	Count  uint64
	Sum    time.Duration
	counts []uint64 // in each bucket
}

func (h *Histogram) init() {
	if h.counts == nil {
		h.counts = make([]uint64, len(bucketBounds))
	}
}

// Buckets returns an iterator over the buckets that are not empty, the shortest
// durations first. It yields the upper bound of the bucket, [math.MaxInt64] for
// the last, and the number of durations in it.
func (h Histogram) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, n := range h.counts {
			if n > 0 && !yield(bucketBounds[i], n) {
				return
			}
		}
	}
}

// AtMost returns the number of durations that are at most bound. It is exact if
// bound is the upper bound of a bucket. Otherwise it leaves out the durations
// in bound's own bucket.
func (h Histogram) AtMost(bound time.Duration) (n uint64) {
	for i, count := range h.counts {
		if bucketBounds[i] > bound {
			break
		}
		n += count
	}
	return n
}

// Quantile returns the q-quantile of the durations, for q from 0 to 1: the
// upper bound of its bucket.
func (h Histogram) Quantile(q float64) time.Duration {
	if !(q >= 0) { // or NaN
		q = 0
	}
	want := uint64(math.Ceil(min(q, 1) * float64(h.Count)))
	seen, last := uint64(0), time.Duration(0)
	for bound, n := range h.Buckets() {
		last = bound
		if seen += n; seen >= want {
			break
		}
	}
	return last
}

// Mean returns the mean of the durations, or 0 if there are none.
func (h Histogram) Mean() time.Duration {
	if h.Count == 0 {
		return 0
	}
	return time.Duration(float64(h.Sum) / float64(h.Count))
}

// String returns the count, the mean, and three quantiles.
func (h Histogram) String() string {
	return fmt.Sprintf("%d, mean %v, p50 %s, p90 %s, p99 %s",
		h.Count, h.Mean(), h.written(0.5), h.written(0.9), h.written(0.99))
}

func (h Histogram) written(q float64) string {
	if d := h.known(q); d != nil {
		return d.String()
	}
	return "> " + bucketBounds[len(bucketBounds)-2].String()
}

func (h Histogram) known(q float64) *time.Duration {
	if d := h.Quantile(q); d != math.MaxInt64 {
		return &d
	}
	return nil
}

type histogramJSON struct {
	Count         uint64
	Sum, Mean     time.Duration
	P50, P90, P99 *time.Duration
	Buckets       []bucketJSON
}

type bucketJSON struct {
	AtMost time.Duration
	Count  uint64
}

// MarshalJSON writes an object with the count, the sum, the mean, quantiles and
// buckets.
func (h Histogram) MarshalJSON() ([]byte, error) {
	written := histogramJSON{h.Count, h.Sum, h.Mean(), h.known(0.5), h.known(0.9), h.known(0.99), []bucketJSON{}}
	for bound, n := range h.Buckets() {
		written.Buckets = append(written.Buckets, bucketJSON{bound, n})
	}
	return json.Marshal(written)
}

// UnmarshalJSON reads what [Histogram.MarshalJSON] writes.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var written histogramJSON
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	*h = Histogram{Count: written.Count, Sum: written.Sum}
	h.init()
	for _, b := range written.Buckets {
		h.counts[bucketOf(uint64(max(0, b.AtMost)))] += b.Count
	}
	return nil
}

// The buckets reach from 2⁻³⁰ s, a nanosecond, to 2²⁰ s, twelve days. Longer
// durations are in the last one.
const (
	lowestPower, highestPower = -30, 20
	perDoubling               = 8
)

var bucketBounds = makeBounds() // len is checked by a test

func makeBounds() (bounds []time.Duration) {
	for i := lowestPower * perDoubling; i <= highestPower*perDoubling; i++ {
		bounds = append(bounds, time.Duration(math.Floor(1e9*math.Exp2(float64(i)/perDoubling))))
	}
	for decade := 10 * time.Nanosecond; decade <= 1000*time.Second; decade *= 10 {
		bounds = append(bounds, decade)
	}
	slices.Sort(bounds)
	return append(slices.Compact(bounds), math.MaxInt64)
}

// firstBuckets is indexed by the place of a duration's highest bit and the four
// bits below it. The bucket of the duration is at most two steps further.
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

func bucketOf(d uint64) int {
	bit := bits.Len64(d|1) - 1
	fraction := d << (63 - bit) >> (63 - 4) & (cellsPerBit - 1)
	i := int(firstBuckets[bit*cellsPerBit+int(fraction)])
	for d > uint64(bucketBounds[i]) {
		i++
	}
	return i
}
