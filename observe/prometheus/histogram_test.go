package shardqprom_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/internal/series/seriestest"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// recorded returns the histogram of delays of a queue.
func recorded(t *testing.T, durations ...time.Duration) *dto.Histogram {
	q, _ := seriestest.NewQueue("q")
	for _, d := range durations {
		q.AddAfter("a", d)
	}
	return find(t, gather(t, newCollector(t, shardqprom.Options{}, q))["shardq_delay_seconds"]).Histogram
}

// native returns the native buckets by their index.
func native(t *testing.T, h *dto.Histogram) map[int]int64 {
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

// TestHistogramsAgree checks that the histogram equals that of client_golang
// with controller-runtime's options, for random durations, also for none.
func TestHistogramsAgree(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		peer := prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "peer", Help: "for comparison",
			Buckets: prometheus.ExponentialBuckets(10e-9, 10, 12), NativeHistogramBucketFactor: 1.1,
		})
		var durations []time.Duration
		for range random.IntN(300) * int(min(seed, 1)) {
			d := time.Duration(math.Exp(random.Float64() * math.Log(float64(longest))))
			if d%10 == 0 { // powers of ten are bounds, which are slightly inexact in floating point
				d++
			}
			durations = append(durations, d)
			peer.Observe(d.Seconds())
		}
		var written dto.Metric
		require.NoError(t, peer.Write(&written))
		want, got := written.Histogram, recorded(t, durations...)
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
}

// longest is the longest duration that a queue distinguishes. Longer ones are
// in one bucket.
const longest = 1 << 20 * time.Second
