package stats

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
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

// init allocates the buckets of an empty histogram.
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
// bound is the bound of a bucket. Otherwise it leaves out the bucket that bound
// lies in.
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
// upper bound of the bucket that it lies in. It returns [math.MaxInt64] for the
// last bucket, and 0 if the histogram is empty.
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
	return fmt.Sprintf("%d, mean %v, p50 %s, p90 %s, p99 %s", h.Count, h.Mean(), h.written(0.5), h.written(0.9), h.written(0.99))
}

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

// MarshalJSON writes an object with Count, Sum, Mean, the quantiles P50, P90
// and P99, and the Buckets that are not empty, each with AtMost and Count.
// Durations are in nanoseconds. A quantile in the last bucket is null.
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

// UnmarshalJSON reads what [Histogram.MarshalJSON] writes.
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
	*h = Histogram{}
	h.init()
	h.Count, h.Sum = written.Count, written.Sum
	for _, b := range written.Buckets {
		h.counts[bucketOf(uint64(max(0, b.AtMost)))] += b.Count
	}
	return nil
}
