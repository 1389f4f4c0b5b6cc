package shardqotel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/shardq/shardq"
	shardqotel "github.com/shardq/shardq/observe/otel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A watch is a registered Observer with a manual reader.
type watch struct {
	*shardqotel.Observer
	reader *sdkmetric.ManualReader
	end    func() error
}

func newWatch(t testing.TB, options shardqotel.Options, queues ...shardq.Inspector) watch {
	t.Helper()
	return newWatchOf(t, sdkmetric.NewManualReader, options, queues...)
}

func newWatchOf(
	t testing.TB, newReader func(...sdkmetric.ManualReaderOption) *sdkmetric.ManualReader,
	options shardqotel.Options, queues ...shardq.Inspector,
) watch {
	t.Helper()
	observer, err := shardqotel.NewObserver(options, queues...)
	require.NoError(t, err)
	reader := newReader(sdkmetric.WithProducer(observer))
	registration, err := observer.Register(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	require.NoError(t, err)
	return watch{observer, reader, registration.Unregister}
}

// collect returns the collected metrics by name.
func (w watch) collect(t testing.TB) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, w.reader.Collect(t.Context(), &all))
	byName := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		require.Equal(t, shardqotel.Scope, scope.Scope.Name)
		for _, m := range scope.Metrics {
			require.NotContains(t, byName, m.Name)
			byName[m.Name] = m
		}
	}
	return byName
}

// value collects, and returns the value with these attributes.
func (w watch) value(t testing.TB, name string, attributes ...attribute.KeyValue) float64 {
	t.Helper()
	return value(t, w.collect(t), name, attributes...)
}

// value returns the value with these attributes.
func value(t testing.TB, all map[string]metricdata.Metrics, name string, attributes ...attribute.KeyValue) float64 {
	t.Helper()
	require.Contains(t, all, name)
	want := attribute.NewSet(attributes...)
	values := points(all[name])
	require.Contains(t, values, want.Equivalent(), "%s %v", name, attributes)
	return values[want.Equivalent()]
}

// points returns the numbers of a metric by their attributes.
func points(m metricdata.Metrics) map[attribute.Distinct]float64 {
	values := map[attribute.Distinct]float64{}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		addPoints(values, data.DataPoints)
	case metricdata.Sum[float64]:
		addPoints(values, data.DataPoints)
	case metricdata.Gauge[int64]:
		addPoints(values, data.DataPoints)
	case metricdata.Gauge[float64]:
		addPoints(values, data.DataPoints)
	}
	return values
}

func addPoints[N int64 | float64](values map[attribute.Distinct]float64, points []metricdata.DataPoint[N]) {
	for _, p := range points {
		values[p.Attributes.Equivalent()] = float64(p.Value)
	}
}
