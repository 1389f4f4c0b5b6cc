package stats

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// The buckets reach from 2⁻³⁰ s, a nanosecond, to 2²⁰ s, twelve days. Longer
// durations are in the last one.
const (
	lowestPower, highestPower = -30, 20
	perDoubling               = 8
)

// bucketBounds has the greatest duration of each bucket.
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
