package shardqotel_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/series/seriestest"
	shardqotel "github.com/shardq/shardq/observe/otel"
)

// recorded returns the histogram of delays, and that of OpenTelemetry for the
// same durations.
func recorded(t *testing.T, durations ...time.Duration) (ours, theirs metricdata.ExponentialHistogramDataPoint[float64]) {
	queue, _ := seriestest.NewQueue("q")
	w := newWatch(t, shardqotel.Options{}, queue)
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(sdkmetric.NewView(
		sdkmetric.Instrument{Name: "*"},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 400, MaxScale: 3}},
	)))
	peer, err := provider.Meter("peer").Float64Histogram("peer")
	require.NoError(t, err)
	for _, d := range durations {
		queue.AddAfter("a", d)
		peer.Record(t.Context(), d.Seconds())
	}
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	theirs = all.ScopeMetrics[0].Metrics[0].Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0]
	return w.collect(t)["shardq.delay"].Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0], theirs
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

// TestHistogramsAgree checks that the histogram equals that of OpenTelemetry,
// for random durations.
func TestHistogramsAgree(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var durations []time.Duration
		for range 1 + random.IntN(300) {
			durations = append(durations, time.Duration(math.Exp(random.Float64()*math.Log(float64(longest)))))
		}
		requireSame(t, durations...)
	}
}

// TestBoundaries checks durations at each bound of the buckets, and just beside
// it.
func TestBoundaries(t *testing.T) {
	for i := -239; i <= 160; i++ {
		bound := time.Duration(1e9 * math.Exp2(float64(i)/8))
		requireSame(t, max(1, bound-1))
		if bound != indistinct {
			requireSame(t, bound)
		}
		if i < 160 {
			requireSame(t, bound+1)
		}
	}
}

// indistinct is within a fiftieth of a nanosecond of the bound 2^(158/8) s, ten
// days. In floating point, the two are equal or adjacent.
const indistinct = 881_743_799_521_079 * time.Nanosecond

func requireSame(t *testing.T, durations ...time.Duration) {
	t.Helper()
	ours, theirs := recorded(t, durations...)
	require.Equal(t, theirs.Count, ours.Count)
	require.InEpsilon(t, theirs.Sum, ours.Sum, 1e-9)
	require.Equal(t, theirs.Scale, ours.Scale)
	require.Equal(t, theirs.ZeroCount, ours.ZeroCount)
	require.Equal(t, buckets(theirs), buckets(ours), "%v", durations)
}

// longest is the longest duration that a queue distinguishes.
const longest = 1 << 20 * time.Second

// TestTheLongest checks that all longer durations are in the next bucket.
func TestTheLongest(t *testing.T) {
	ours, _ := recorded(t, longest, longest+1, 1e7*time.Second)
	require.Equal(t, map[int32]uint64{159: 1, 160: 2}, buckets(ours))
}

func TestHistogramsOfAQueue(t *testing.T) {
	before := time.Now()
	queue, fake := seriestest.NewQueue("q")
	w := newWatch(t, shardqotel.Options{}, queue)
	queue.Add("a")
	fake.Step(3 * time.Second)
	queue.Get()
	fake.Step(5 * time.Second)
	queue.Done("a")
	all := w.collect(t)
	for name, want := range map[string]float64{"workqueue.queue.duration": 3, "workqueue.work.duration": 5, "shardq.delay": 0} {
		require.Equal(t, "s", all[name].Unit)
		data := all[name].Data.(metricdata.ExponentialHistogram[float64])
		require.Equal(t, metricdata.CumulativeTemporality, data.Temporality)
		require.Len(t, data.DataPoints, 1)
		point := data.DataPoints[0]
		require.Equal(t, want, point.Sum, name)
		require.False(t, point.StartTime.Before(before))
		require.False(t, point.Time.Before(point.StartTime))
		name, _ := point.Attributes.Value("workqueue.name")
		require.Equal(t, "q", name.AsString())
	}
}

func TestProduceEndsWithItsContext(t *testing.T) {
	queue, _ := seriestest.NewQueue("q")
	w := newWatch(t, shardqotel.Options{}, queue)
	ctx, end := context.WithCancel(t.Context())
	end()
	_, err := w.Produce(ctx)
	require.ErrorIs(t, err, context.Canceled)
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
	require.Equal(t, 1.0, w.value(t, "shardq.failed.readings", q))
	require.Equal(t, 3.0, w.value(t, "shardq.failed.readings", q))
	require.Len(t, points(w.collect(t)["workqueue.depth"]), 1)
}

// TestStartTimeIsOfTheQueue checks that counts begin when the queue was
// created, even if it was added to the Observer later.
func TestStartTimeIsOfTheQueue(t *testing.T) {
	before := time.Now()
	queue, _ := seriestest.NewQueue("q")
	made := time.Now()
	queue.AddAfter("a", time.Second)
	w := newWatch(t, shardqotel.Options{}, queue)
	point := w.collect(t)["shardq.delay"].Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0]
	require.WithinRange(t, point.StartTime, before, made)
}
