package shardqotel_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/series/seriestest"
	shardqotel "github.com/shardq/shardq/observe/otel"
	"github.com/shardq/shardq/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A watch is a registered Observer with a manual reader.
type watch struct {
	*shardqotel.Observer
	reader *sdkmetric.ManualReader
}

func newWatch(t testing.TB, options shardqotel.Options, queues ...shardq.Inspector) watch {
	observer, err := shardqotel.NewObserver(options, queues...)
	require.NoError(t, err)
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(observer))
	_, err = observer.Register(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	require.NoError(t, err)
	return watch{observer, reader}
}

// collect returns the collected metrics by name.
func (w watch) collect(t testing.TB) map[string]metricdata.Metrics {
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

// value returns the value with these attributes.
func value(t testing.TB, all map[string]metricdata.Metrics, name string, attributes ...attribute.KeyValue) float64 {
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
		for _, p := range data.DataPoints {
			values[p.Attributes.Equivalent()] = float64(p.Value)
		}
	case metricdata.Sum[float64]:
		for _, p := range data.DataPoints {
			values[p.Attributes.Equivalent()] = p.Value
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			values[p.Attributes.Equivalent()] = p.Value
		}
	}
	return values
}

var q = attribute.String("workqueue.name", "q")

// TestEveryMetric checks that each metric has its own number, and that there
// are no others.
func TestEveryMetric(t *testing.T) {
	invented := seriestest.Invent("q")
	numbers := seriestest.Numbers(invented)
	all := newWatch(t, shardqotel.Options{Groups: 8}, invented).collect(t)
	for name, want := range numbers {
		require.Equal(t, want, value(t, all, name, q), name)
	}
	require.Equal(t, 0.0, value(t, all, "shardq.failed.readings", q))
	for group, state := range map[string]string{"a": "processing", "b": "delayed", "d": "ready"} {
		require.Equal(t, 1.0, value(t, all, "shardq.group.items",
			q, attribute.String("shardq.group.name", group), attribute.String("shardq.item.state", state)))
	}
	for result, want := range seriestest.Attempts {
		label := attribute.String("shardq.attempt.result", stats.Result(result).String())
		require.EqualValues(t, want, value(t, all, "shardq.attempts", q, label))
		require.EqualValues(t, want, value(t, all, "shardq.group.attempts", q, label, attribute.String("shardq.group.name", "a")))
	}
	require.Len(t, all, len(numbers)+9, "and the failed readings, the groups, the attempts, and five histograms")

	c, err := seriestest.PlayValues("q")
	require.NoError(t, err)
	all = newWatch(t, shardqotel.Options{}, c.Queue()).collect(t)
	for name, want := range seriestest.Numbers(c.Queue()) {
		require.Equal(t, want, value(t, all, name, q), name)
	}
	for _, name := range []string{"shardq.capacity.items", "shardq.groups", "shardq.group.items", "shardq.group.attempts", "shardq.attempt.duration", "messaging.process.duration"} {
		require.NotContains(t, all, name, "what the queue does not have is missing, not zero")
	}
}

// TestDurationsByTheConventions checks that messaging.process.duration has the
// same durations as the metric of our own, and says which attempts failed.
func TestDurationsByTheConventions(t *testing.T) {
	all := newWatch(t, shardqotel.Options{}, seriestest.Invent("q")).collect(t)
	pointsOf := func(name string) []metricdata.ExponentialHistogramDataPoint[float64] {
		return all[name].Data.(metricdata.ExponentialHistogram[float64]).DataPoints
	}
	own, conventional := pointsOf("shardq.attempt.duration"), pointsOf("messaging.process.duration")
	require.Equal(t, "s", all["messaging.process.duration"].Unit)
	require.Len(t, conventional, len(seriestest.Attempts))
	for i, p := range conventional {
		result, _ := own[i].Attributes.Value("shardq.attempt.result")
		attributes := []attribute.KeyValue{
			q, attribute.String("messaging.system", "shardq"), attribute.String("messaging.operation.name", "process"),
			attribute.String("messaging.destination.name", "q"), attribute.String("shardq.attempt.result", result.AsString()),
		}
		if result.AsString() != "success" && result.AsString() != "requeue" {
			attributes = append(attributes, attribute.String("error.type", result.AsString()))
		}
		require.Equal(t, attribute.NewSet(attributes...), p.Attributes)
		require.Equal(t, own[i].Count, p.Count)
		require.Equal(t, own[i].PositiveBucket, p.PositiveBucket)
	}
}

// A broken queue panics when it is read.
type broken struct{ shardq.Inspector }

func (broken) Stats() shardq.Stats { panic("the clock is broken") }

// TestPanicFailsOneQueue checks that the callback and the producer export the
// other queues, and that the failure is counted.
func TestPanicFailsOneQueue(t *testing.T) {
	queue, _ := seriestest.NewQueue("q")
	sound, _ := seriestest.NewQueue("sound")
	w := newWatch(t, shardqotel.Options{}, broken{queue}, sound)
	require.Equal(t, 1.0, value(t, w.collect(t), "shardq.failed.readings", q))
	require.Equal(t, 3.0, value(t, w.collect(t), "shardq.failed.readings", q))
	require.Len(t, points(w.collect(t)["workqueue.depth"]), 1)
}

// TestHistogramsAgree checks that the histogram equals that of OpenTelemetry,
// for random durations.
func TestHistogramsAgree(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		queue, _ := seriestest.NewQueue("q")
		w := newWatch(t, shardqotel.Options{}, queue)
		reader := sdkmetric.NewManualReader()
		peer, err := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(sdkmetric.NewView(
			sdkmetric.Instrument{Name: "*"},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 400, MaxScale: 3}},
		))).Meter("peer").Float64Histogram("peer")
		require.NoError(t, err)
		for range 1 + random.IntN(300) {
			d := time.Duration(math.Exp(random.Float64() * math.Log(1<<20*1e9))) // the longest that a queue distinguishes
			queue.AddAfter("a", d)
			peer.Record(t.Context(), d.Seconds())
		}
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &all))
		theirs := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0]
		ours := histogram(t, w.collect(t), "shardq.delay")
		require.Equal(t, theirs.Count, ours.Count)
		require.InEpsilon(t, theirs.Sum, ours.Sum, 1e-9)
		require.Equal(t, theirs.Scale, ours.Scale)
		require.Equal(t, theirs.ZeroCount, ours.ZeroCount)
		require.Equal(t, buckets(theirs), buckets(ours), "seed %d", seed)
	}
}

// histogram returns the only point of a histogram.
func histogram(t *testing.T, all map[string]metricdata.Metrics, name string) metricdata.ExponentialHistogramDataPoint[float64] {
	require.Equal(t, "s", all[name].Unit)
	data := all[name].Data.(metricdata.ExponentialHistogram[float64])
	require.Equal(t, metricdata.CumulativeTemporality, data.Temporality)
	require.Len(t, data.DataPoints, 1)
	return data.DataPoints[0]
}

// buckets returns the buckets that are not empty, by their index.
func buckets(p metricdata.ExponentialHistogramDataPoint[float64]) map[int32]uint64 {
	found := map[int32]uint64{}
	for i, n := range p.PositiveBucket.Counts {
		if n > 0 {
			found[p.PositiveBucket.Offset+int32(i)] = n
		}
	}
	return found
}

// TestHistogramsOfAQueue checks that counts begin when the queue was created,
// even if it was added to the Observer later.
func TestHistogramsOfAQueue(t *testing.T) {
	before := time.Now()
	queue, fake := seriestest.NewQueue("q")
	made := time.Now()
	w := newWatch(t, shardqotel.Options{}, queue)
	queue.Add("a")
	fake.Step(3 * time.Second)
	queue.Get()
	fake.Step(5 * time.Second)
	queue.Done("a")
	for name, want := range map[string]float64{"workqueue.queue.duration": 3, "workqueue.work.duration": 5, "shardq.delay": 0} {
		point := histogram(t, w.collect(t), name)
		require.Equal(t, want, point.Sum, name)
		require.WithinRange(t, point.StartTime, before, made)
		require.False(t, point.Time.Before(point.StartTime))
		require.Equal(t, attribute.NewSet(q), point.Attributes)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	_, err := w.Produce(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
