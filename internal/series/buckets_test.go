package series_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/stats"
)

// recorded returns the buckets of the given durations.
func recorded(durations ...time.Duration) series.Buckets {
	q := shardq.MustNew(shardq.Options[string]{Metrics: true, Clock: clock.NewFake(time.Unix(1, 0))})
	for _, d := range durations {
		q.AddAfter("a", d)
	}
	return series.BucketsOf(q.Stats().Metrics.Delay)
}

// longest is the largest bound. The bucket after it has all longer durations.
const longest = 1 << 20 * time.Second

// TestBuckets: Counts includes empty buckets in between.
func TestBuckets(t *testing.T) {
	require.Equal(t, series.Buckets{}, series.BucketsOf(stats.Histogram{}))
	require.Equal(t, series.Buckets{}, recorded())
	require.Equal(t, series.Buckets{First: -8, Counts: []uint64{1, 0, 0, 0, 0, 0, 0, 0, 2, 1}},
		recorded(time.Second/2, time.Second, time.Second-1, time.Second+1))
	require.Equal(t, series.Buckets{First: 160, Counts: []uint64{1, 2}}, recorded(longest, longest+1, math.MaxInt64))
}

// TestDecadesAreCombined: a bound that is a power of ten seconds does not split
// a bucket.
func TestDecadesAreCombined(t *testing.T) {
	for decade := time.Microsecond; decade <= 1000*time.Second; decade *= 10 {
		if decade == time.Second {
			continue // a bound of both
		}
		require.Len(t, recorded(decade, decade+1).Counts, 1, "%v", decade)
	}
}

// TestEachDurationIsInItsBucket: each duration is above the previous bound, and
// not above the bound of its bucket.
func TestEachDurationIsInItsBucket(t *testing.T) {
	for d := time.Duration(1); d <= longest; d = d*17/16 + 1 {
		b := recorded(d)
		require.Equal(t, []uint64{1}, b.Counts)
		upper := math.Exp2(float64(b.First) / 8)
		require.LessOrEqual(t, d.Seconds(), upper*(1+1e-15))
		require.Greater(t, d.Seconds(), upper/math.Exp2(1./8)*(1-1e-15))
	}
}
