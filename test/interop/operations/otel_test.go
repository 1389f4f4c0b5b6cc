package operations_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/series/seriestest"
	shardqotel "github.com/shardq/shardq/observe/otel"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// TestOpenTelemetryHasTheSame checks that there are the same series with the
// same numbers, under names that a translation to Prometheus makes the same.
// The durations of attempts have a second name, of the semantic conventions.
func TestOpenTelemetryHasTheSame(t *testing.T) {
	requireSame(t, seriestest.Play("q"))
	values, err := seriestest.PlayValues("values")
	require.NoError(t, err)
	requireSame(t, values.Queue())
}

// requireSame compares all series of a queue.
func requireSame(t *testing.T, q shardq.Inspector) {
	t.Helper()
	want := map[string]float64{}
	for name, f := range scraped(t, q) {
		want[name] = number(f)
	}
	got := map[string]float64{}
	for _, m := range collected(t, q) {
		got[translated(m)] = sum(m)
	}
	const conventional, own = "messaging_process_duration_seconds", "shardq_attempt_duration_seconds"
	require.Equal(t, got[own], got[conventional])
	delete(got, conventional)
	require.Equal(t, want, got)
}

// scraped returns the scrape of queues, by the names of the series.
func scraped(t *testing.T, queues ...shardq.Inspector) map[string]*dto.MetricFamily {
	t.Helper()
	c, err := shardqprom.NewCollector(shardqprom.Options{Groups: 1}, queues...)
	require.NoError(t, err)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

// number returns the sum of a family's metrics, and for histograms the sum of
// the counts.
func number(f *dto.MetricFamily) (n float64) {
	for _, m := range f.GetMetric() {
		n += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return n
}

func collected(t *testing.T, q shardq.Inspector) []metricdata.Metrics {
	o, err := shardqotel.NewObserver(shardqotel.Options{Groups: 1}, q)
	require.NoError(t, err)
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(o))
	_, err = o.Register(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	require.NoError(t, err)
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	var metrics []metricdata.Metrics
	for _, scope := range all.ScopeMetrics {
		metrics = append(metrics, scope.Metrics...)
	}
	return metrics
}

// translated returns the name of a metric in Prometheus, by the rules of
// OpenTelemetry.
func translated(m metricdata.Metrics) string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	switch m.Unit {
	case "s":
		name += "_seconds"
	case "1":
		name += "_ratio"
	}
	if counts, ok := m.Data.(metricdata.Sum[int64]); ok && counts.IsMonotonic {
		name += "_total"
	}
	return name
}

// sum returns the sum of a metric's points, and for histograms the sum of the
// counts.
func sum(m metricdata.Metrics) (n float64) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		n = sumOf(data.DataPoints)
	case metricdata.Sum[float64]:
		n = sumOf(data.DataPoints)
	case metricdata.Gauge[float64]:
		n = sumOf(data.DataPoints)
	case metricdata.ExponentialHistogram[float64]:
		for _, p := range data.DataPoints {
			n += float64(p.Count)
		}
	}
	return n
}

func sumOf[N int64 | float64](points []metricdata.DataPoint[N]) (n float64) {
	for _, p := range points {
		n += float64(p.Value)
	}
	return n
}
