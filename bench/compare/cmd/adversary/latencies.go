package main

import (
	"math/bits"
	"time"
)

// latencies counts durations in buckets that are a sixteenth of a power of two
// wide, so that any number of them takes the same memory.
type latencies struct {
	buckets [64 * 16]uint64
	n       uint64
	longest time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.buckets[bucket(uint64(max(d, 0)))]++
	l.n++
	l.longest = max(l.longest, d)
}

func (l *latencies) merge(other *latencies) {
	for i, n := range other.buckets {
		l.buckets[i] += n
	}
	l.n += other.n
	l.longest = max(l.longest, other.longest)
}

// within returns a duration that a share of q did not exceed, which is up to a
// sixteenth too large.
func (l *latencies) within(q float64) time.Duration {
	left := uint64(q * float64(l.n))
	for i, n := range l.buckets {
		if n > left {
			return min(bucketEnd(i), l.longest)
		}
		left -= n
	}
	return l.longest
}

func bucket(d uint64) int {
	if d < 16 {
		return int(d)
	}
	shift := bits.Len64(d) - 5
	return (shift+1)*16 + int(d>>shift)&15
}

// bucketEnd returns the greatest duration of a bucket.
func bucketEnd(i int) time.Duration {
	if i < 16 {
		return time.Duration(i)
	}
	shift := i/16 - 1
	return time.Duration((uint64(16+i%16)+1)<<shift - 1)
}
