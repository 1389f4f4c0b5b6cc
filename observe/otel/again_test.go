package shardqotel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/shardq/shardq/internal/series/seriestest"
	shardqotel "github.com/shardq/shardq/observe/otel"
)

// TestReusedName checks that counters go back, and keep the start time
// of the SDK, which an instrument cannot change. Histograms begin with the new
// queue. The package documents this behavior. The test fails if the SDK lets
// observers set the start time.
func TestReusedName(t *testing.T) {
	old, fresh := reads(t, sdkmetric.NewManualReader)
	before, after := adds(t, old), adds(t, fresh)
	require.EqualValues(t, 5, before.Value)
	require.EqualValues(t, 1, after.Value)
	require.Equal(t, before.StartTime, after.StartTime)
	require.True(t, delays(t, fresh).StartTime.After(delays(t, old).StartTime))
}

// TestReusedNameInDeltas checks that one delta is negative.
func TestReusedNameInDeltas(t *testing.T) {
	old, fresh := reads(t, func(options ...sdkmetric.ManualReaderOption) *sdkmetric.ManualReader {
		return sdkmetric.NewManualReader(append(options, sdkmetric.WithTemporalitySelector(
			func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }))...)
	})
	require.EqualValues(t, 5, adds(t, old).Value)
	require.EqualValues(t, 1-5, adds(t, fresh).Value)
}

// reads reads a queue with five adds, and then another queue of the same name
// with one add.
func reads(t *testing.T, newReader func(...sdkmetric.ManualReaderOption) *sdkmetric.ManualReader) (old, fresh map[string]metricdata.Metrics) {
	first, _ := seriestest.NewQueue("q")
	w := newWatchOf(t, newReader, shardqotel.Options{}, first)
	for _, item := range []string{"a", "b", "c", "d", "e"} {
		first.Add(item)
	}
	old = w.collect(t)
	require.True(t, w.Remove("q"))
	second, _ := seriestest.NewQueue("q")
	require.NoError(t, w.Add(second))
	second.Add("a")
	return old, w.collect(t)
}

func adds(t *testing.T, all map[string]metricdata.Metrics) metricdata.DataPoint[int64] {
	t.Helper()
	points := all["workqueue.adds"].Data.(metricdata.Sum[int64]).DataPoints
	require.Len(t, points, 1)
	return points[0]
}

func delays(t *testing.T, all map[string]metricdata.Metrics) metricdata.ExponentialHistogramDataPoint[float64] {
	t.Helper()
	points := all["shardq.delay"].Data.(metricdata.ExponentialHistogram[float64]).DataPoints
	require.Len(t, points, 1)
	return points[0]
}
