package series

import (
	"math"
	"slices"
	"time"

	"github.com/shardq/shardq/stats"
)

// Schema is the schema of exponential buckets in Prometheus, and their scale in
// OpenTelemetry. Each bound is 2 to the power of 2⁻³ times the previous one.
const Schema = 3

const perDoubling = 1 << Schema

// Buckets are exponential buckets of durations in seconds, as Prometheus and
// OpenTelemetry define them.
type Buckets struct {
	Zero uint64 // the number of durations of zero
	// Counts begins with the bucket number First. Bucket i has the durations
	// that are longer than 2^((i-1)/8) s and at most 2^(i/8) s.
	First  int
	Counts []uint64
}

// longest has all durations beyond twelve days, the largest bound of a queue's
// histogram.
const longest = 20*perDoubling + 1

// BucketsOf returns the buckets of h. They are exact, because all their bounds are
// also bounds of a queue's buckets.
func BucketsOf(h stats.Histogram) (b Buckets) {
	for bound, n := range h.Buckets() {
		if bound == 0 {
			b.Zero = n
		} else {
			b.add(bucketOf(bound), n)
		}
	}
	return b
}

// add is called in ascending order of buckets.
func (b *Buckets) add(bucket int, n uint64) {
	if len(b.Counts) == 0 {
		b.First = bucket
	}
	missing := bucket - b.First + 1 - len(b.Counts)
	b.Counts = slices.Grow(b.Counts, missing)[:len(b.Counts)+missing]
	b.Counts[len(b.Counts)-1] += n
}

// fractions has the bounds within a doubling, halved to match [math.Frexp].
var fractions = func() (bounds [perDoubling]float64) {
	for i := range bounds {
		bounds[i] = math.Exp2(float64(i)/perDoubling) / 2
	}
	return bounds
}()

// bucketOf returns the number of the bucket of d > 0, the upper bound of a
// queue's bucket.
func bucketOf(d time.Duration) int {
	if d == math.MaxInt64 {
		return longest
	}
	fraction, exponent := math.Frexp(d.Seconds())
	i, _ := slices.BinarySearch(fractions[:], fraction)
	return i + (exponent-1)*perDoubling
}
