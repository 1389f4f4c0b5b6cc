package pair

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

// Series returns the families whose names begin with workqueue_, each with its one
// metric of this queue.
func Series(t testing.TB, from prometheus.Gatherer, queue string) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := from.Gather()
	require.NoError(t, err)
	found := map[string]*dto.MetricFamily{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if strings.HasPrefix(f.GetName(), "workqueue_") && label(m, "name") == queue {
				require.NotContains(t, found, f.GetName(), "a second metric of the queue")
				found[f.GetName()] = &dto.MetricFamily{Name: f.Name, Help: f.Help, Type: f.Type, Metric: []*dto.Metric{m}}
			}
		}
	}
	return found
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// requireSame compares two series. It leaves out the moments at which they
// began, which shardq does not export.
func requireSame(t testing.TB, theirs, ours map[string]*dto.MetricFamily) {
	t.Helper()
	require.Len(t, theirs, 7)
	require.Len(t, ours, 7)
	for name, want := range theirs {
		got := ours[name]
		require.NotNil(t, got, name)
		require.Equal(t, want.GetHelp(), got.GetHelp())
		require.Equal(t, want.GetType(), got.GetType(), name)
		requireSameMetric(t, name, want.Metric[0], got.Metric[0])
	}
}

func requireSameMetric(t testing.TB, name string, want, got *dto.Metric) {
	t.Helper()
	require.Equal(t, fmt.Sprint(want.Label), fmt.Sprint(got.Label), name)
	switch {
	case want.Counter != nil:
		require.Equal(t, want.Counter.GetValue(), got.Counter.GetValue(), name)
	case want.Gauge != nil:
		requireClose(t, want.Gauge.GetValue(), got.Gauge.GetValue(), name)
	default:
		requireSameHistogram(t, name, want.Histogram, got.Histogram)
	}
}

// requireClose allows for the rounding of floating-point numbers that are
// added.
func requireClose(t testing.TB, want, got float64, name string) {
	t.Helper()
	require.InDelta(t, want, got, 1e-12+1e-9*math.Abs(want), name)
}

// requireSameHistogram compares all buckets of their histogram. Kubernetes has
// two classic buckets less. Package observe/prometheus compares the native ones.
func requireSameHistogram(t testing.TB, name string, want, got *dto.Histogram) {
	t.Helper()
	require.Equal(t, want.GetSampleCount(), got.GetSampleCount(), name)
	requireClose(t, want.GetSampleSum(), got.GetSampleSum(), name)
	require.Len(t, got.Bucket, 12, "10 ns to 1000 s")
	for i, bucket := range want.Bucket {
		require.Equal(t, bucket.GetUpperBound(), got.Bucket[i].GetUpperBound(), name)
		require.Equal(t, bucket.GetCumulativeCount(), got.Bucket[i].GetCumulativeCount(), "%s to %v s", name, bucket.GetUpperBound())
	}
}
