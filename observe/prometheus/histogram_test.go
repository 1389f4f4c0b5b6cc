package shardqprom_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// A stopwatch records durations in the delays of a queue.
type stopwatch struct {
	queue     *shardq.Queue[int]
	collector *shardqprom.Collector
}

func newStopwatch(t testing.TB) *stopwatch {
	fake := clock.NewFake(time.Unix(1_700_000_000, 0))
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Shards: 1, Metrics: true, Clock: fake})
	return &stopwatch{q, newCollector(t, shardqprom.Options{}, q)}
}

func (s *stopwatch) record(d time.Duration) { s.queue.AddAfter(0, d) }

func (s *stopwatch) histogram(t testing.TB) *dto.Histogram {
	return find(t, gather(t, s.collector)["shardq_delay_seconds"]).Histogram
}

// peer returns a histogram of client_golang with controller-runtime's options.
func peer() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "peer", Help: "for comparison",
		Buckets: prometheus.ExponentialBuckets(10e-9, 10, 12), NativeHistogramBucketFactor: 1.1,
	})
}

func written(t testing.TB, m prometheus.Metric) *dto.Histogram {
	var out dto.Metric
	require.NoError(t, m.Write(&out))
	return out.Histogram
}

// native returns the native buckets by their index.
func native(t testing.TB, h *dto.Histogram) map[int]int64 {
	buckets, at, count, next := map[int]int64{}, 0, int64(0), 0
	for i, span := range h.PositiveSpan {
		require.True(t, i == 0 || span.GetOffset() > 0, "spans that touch are one")
		at += int(span.GetOffset())
		for range span.GetLength() {
			count += h.PositiveDelta[next]
			require.GreaterOrEqual(t, count, int64(0))
			if count > 0 {
				buckets[at] = count
			}
			at++
			next++
		}
	}
	require.Len(t, h.PositiveDelta, next)
	return buckets
}

func requireSame(t testing.TB, want, got *dto.Histogram) {
	t.Helper()
	require.Equal(t, want.GetSampleCount(), got.GetSampleCount())
	require.InEpsilon(t, 1+want.GetSampleSum(), 1+got.GetSampleSum(), 1e-12)
	require.Equal(t, want.GetSchema(), got.GetSchema())
	require.Equal(t, want.GetZeroThreshold(), got.GetZeroThreshold())
	require.Equal(t, want.GetZeroCount(), got.GetZeroCount())
	require.Equal(t, native(t, want), native(t, got))
	require.Len(t, got.Bucket, len(want.Bucket))
	for i := range want.Bucket {
		require.Equal(t, want.Bucket[i].GetUpperBound(), got.Bucket[i].GetUpperBound())
		require.Equal(t, want.Bucket[i].GetCumulativeCount(), got.Bucket[i].GetCumulativeCount(), "to %v", want.Bucket[i].GetUpperBound())
	}
}

func TestEmptyHistogram(t *testing.T) {
	requireSame(t, written(t, peer()), newStopwatch(t).histogram(t))
}

// TestNativeBoundaries checks durations at each bound of the native buckets,
// and just beside it.
func TestNativeBoundaries(t *testing.T) {
	for i := -240; i <= 160; i++ {
		bound := time.Duration(1e9 * math.Exp2(float64(i)/8))
		ours, theirs := newStopwatch(t), peer()
		for d := max(1, bound-1); d <= bound+1 && d <= longest; d++ {
			if !isDecade(d) && d != indistinct {
				ours.record(d)
				theirs.Observe(d.Seconds())
			}
		}
		requireSame(t, written(t, theirs), ours.histogram(t))
	}
}

// indistinct is within a fiftieth of a nanosecond of the bound 2^(158/8) s, ten
// days. In floating point, the two are equal or adjacent.
const indistinct = 881_743_799_521_079 * time.Nanosecond

// isDecade reports whether a duration is a power of ten of nanoseconds. These
// are bounds of the classic buckets, some of which are slightly inexact in
// floating point.
func isDecade(d time.Duration) bool {
	for ; d > 1; d /= 10 {
		if d%10 != 0 {
			return false
		}
	}
	return true
}

// TestHistogramsAgree checks that the histogram equals that of client_golang,
// for random durations.
func TestHistogramsAgree(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		ours, theirs := newStopwatch(t), peer()
		for range random.IntN(300) {
			d := time.Duration(math.Exp(random.Float64() * math.Log(float64(longest))))
			if isDecade(d) {
				continue
			}
			ours.record(d)
			theirs.Observe(d.Seconds())
		}
		requireSame(t, written(t, theirs), ours.histogram(t))
	}
}

// TestDecades checks that a duration equal to a bound counts as within it.
func TestDecades(t *testing.T) {
	ours := newStopwatch(t)
	total := uint64(0)
	for d := 10 * time.Nanosecond; d <= 1000*time.Second; d *= 10 {
		ours.record(d)
		total++
		ours.record(d + 1)
		total++
	}
	for i, bucket := range ours.histogram(t).Bucket {
		require.EqualValues(t, 2*i+1, bucket.GetCumulativeCount())
	}
	require.Equal(t, total, ours.histogram(t).GetSampleCount())
}

// nanosecond is the index of the native bucket of a nanosecond, which also
// counts zero.
const nanosecond = -239

// longest is the longest duration that a queue distinguishes. Longer ones are
// in one bucket.
const longest = 1 << 20 * time.Second

// TestZeroAndTheLongest checks both ends of the histogram.
func TestZeroAndTheLongest(t *testing.T) {
	ours := newStopwatch(t)
	ours.record(longest)
	ours.record(longest + 1)
	ours.record(100 * 365 * 24 * time.Hour)
	ours.queue.Add(1)
	ours.queue.Get() // after no time

	h := ours.histogram(t)
	require.Equal(t, map[int]int64{160: 1, 161: 2}, native(t, h))
	require.EqualValues(t, 0, h.Bucket[len(h.Bucket)-1].GetCumulativeCount(), "longer than 1000 s")
	h = find(t, gather(t, ours.collector)["workqueue_queue_duration_seconds"]).Histogram
	require.EqualValues(t, 1, int64(h.GetZeroCount())+native(t, h)[nanosecond])
	require.EqualValues(t, 1, h.Bucket[0].GetCumulativeCount())
}
