// Package exponential turns the histograms of queues into those with exponential buckets, as
// Prometheus and OpenTelemetry have them.
package exponential

import (
	"math"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

// Schema is what Prometheus calls the schema of the buckets, and OpenTelemetry their scale: each
// bound is 2 to the power of 2⁻³ times the one before.
const Schema = 3

const perDoubling = 1 << Schema

// Buckets are the buckets of a histogram of seconds.
type Buckets struct {
	// Zero is the number of durations of no length.
	Zero uint64
	// First is the number of the first bucket, and Counts how many durations there are in it and
	// those that follow: in bucket i those that are longer than 2^((i-1)/8) s, and not longer than
	// 2^(i/8) s.
	First  int
	Counts []uint64
}

// longest is the number of the bucket in which all is that is longer than what a queue tells apart,
// twelve days: the first bucket beyond.
const longest = 20*perDoubling + 1

// Of returns the buckets of a histogram. They hold exactly what was recorded: a queue's buckets
// have the same bounds and some more, between which it is put together.
func Of(h shardq.Histogram) (b Buckets) {
	for bound, n := range h.Buckets() {
		if bound == 0 {
			b.Zero = n
			continue
		}
		b.add(bucketOf(bound), n)
	}
	return b
}

// add adds to a bucket. They come in their order.
func (b *Buckets) add(bucket int, n uint64) {
	if len(b.Counts) == 0 {
		b.First = bucket
	}
	missing := bucket - b.First + 1 - len(b.Counts)
	b.Counts = slices.Grow(b.Counts, missing)[:len(b.Counts)+missing]
	b.Counts[len(b.Counts)-1] += n
}

// fractions has the bounds within a doubling, halved as [math.Frexp] does it.
var fractions = makeFractions()

func makeFractions() (bounds [perDoubling]float64) {
	for i := range bounds {
		bounds[i] = math.Exp2(float64(i)/perDoubling) / 2
	}
	return bounds
}

// bucketOf returns the number of the bucket of a duration, which is more than 0. The greatest
// duration of a bucket stands for all of it.
func bucketOf(d time.Duration) int {
	if d == math.MaxInt64 {
		return longest
	}
	fraction, exponent := math.Frexp(d.Seconds())
	i, _ := slices.BinarySearch(fractions[:], fraction)
	return i + (exponent-1)*perDoubling
}
