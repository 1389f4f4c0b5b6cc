package debugpage

import (
	"math"
	"time"

	"github.com/shardq/shardq/stats"
)

func newDurations(m *stats.Metrics) *durations {
	if m == nil {
		return nil
	}
	return &durations{newHistogram(m.QueueDuration, 0), newHistogram(m.WorkDuration, 0), newHistogram(m.Delay, 0)}
}

// newHistogram returns a histogram for the report. The durations are known
// within fineness.
func newHistogram(h stats.Histogram, fineness time.Duration) histogram {
	return histogram{
		Count: h.Count, SumSeconds: inSeconds(h.Sum), MeanSeconds: optional(h.Mean(), h.Sum < math.MaxInt64),
		P50Seconds: quantile(h, 0.5), P90Seconds: quantile(h, 0.9), P99Seconds: quantile(h, 0.99),
		Buckets: doublings(h, fineness), Fine: newFineBuckets(h),
	}
}

func newFineBuckets(h stats.Histogram) fineBuckets {
	fine := fineBuckets{[]*seconds{}, []uint64{}}
	for bound, n := range h.Buckets() {
		fine.AtMostSeconds = append(fine.AtMostSeconds, optional(bound, bound != math.MaxInt64))
		fine.Counts = append(fine.Counts, n)
	}
	return fine
}

// quantile returns a quantile, or nil if it lies beyond the last bound.
func quantile(h stats.Histogram, q float64) *seconds {
	d := h.Quantile(q)
	return optional(d, d != math.MaxInt64)
}

// The bounds of the shown buckets are powers of two of a second, from
// lowestPower to highestPower. They are also bounds of [stats.Histogram], so
// that no duration falls into two buckets.
const lowestPower, highestPower = -30, 20

// doublings returns a bucket for each doubling, from the first that is not
// empty to the last. All durations below the fineness are in one bucket.
// Otherwise overdue delays would start a row of thirty empty buckets.
func doublings(h stats.Histogram, fineness time.Duration) []bucket {
	buckets, before := []bucket{}, uint64(0)
	add := func(bound *seconds, atMost uint64) {
		if len(buckets) > 0 || atMost > 0 {
			buckets = append(buckets, bucket{bound, atMost - before})
		}
		before = atMost
	}
	for power := lowestPower; power <= highestPower && before < h.Count; power++ {
		bound := time.Duration(math.Floor(1e9 * math.Exp2(float64(power))))
		if bound >= fineness {
			add(optional(bound, true), h.AtMost(bound))
		}
	}
	if before < h.Count {
		add(nil, h.Count)
	}
	return buckets
}
