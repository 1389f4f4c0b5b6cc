package harness

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
)

// lateness is a histogram of the lateness of delays, in buckets of an eighth of
// a power of two. Its quantiles are right within 12 %. It is safe for
// concurrent use.
type lateness struct {
	buckets [64 * 8]atomic.Uint64
	longest atomic.Uint64
}

func (l *lateness) add(d time.Duration) {
	l.buckets[bucketOf(uint64(d))].Add(1)
	raise(&l.longest, uint64(d))
}

// bucketOf uses the highest bit of n and the three below it.
func bucketOf(n uint64) int {
	if n < 8 {
		return int(n)
	}
	exponent := bits.Len64(n)
	return (exponent-3)*8 + int(n>>(exponent-4)&7)
}

// lowest returns the least number in a bucket.
func lowest(bucket int) uint64 {
	if bucket < 8 {
		return uint64(bucket)
	}
	return uint64(8|bucket%8) << (bucket/8 - 1)
}

func (l *lateness) merge(other *lateness) {
	for i := range l.buckets {
		l.buckets[i].Add(other.buckets[i].Load())
	}
	raise(&l.longest, other.longest.Load())
}

func (l *lateness) count() (n uint64) {
	for i := range l.buckets {
		n += l.buckets[i].Load()
	}
	return n
}

// quantile returns a lateness that a share of q did not exceed.
func (l *lateness) quantile(q float64) time.Duration {
	rest := int64(q * float64(l.count()))
	for i := range l.buckets {
		rest -= int64(l.buckets[i].Load())
		if rest < 0 {
			return time.Duration(lowest(i + 1)).Round(time.Microsecond)
		}
	}
	return time.Duration(l.longest.Load()).Round(time.Microsecond)
}

func (l *lateness) String() string {
	return fmt.Sprintf("p50 %v, p99 %v, max %v", l.quantile(0.5), l.quantile(0.99),
		time.Duration(l.longest.Load()).Round(time.Microsecond))
}
