package shardqotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/shardq/shardq/internal/exponential"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/stats"
)

var _ sdkmetric.Producer = (*Observer)(nil)

// Produce returns the histograms of all queues. The reader calls it: pass the
// Observer to the reader by [sdkmetric.WithProducer]. Produce reads each queue
// once, as the callback does.
func (o *Observer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	readings := o.registry.Read()
	now := time.Now()
	scope := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: Scope}}
	for _, h := range series.Histograms {
		var points []metricdata.ExponentialHistogramDataPoint[float64]
		for i := range readings {
			if r := &readings[i]; r.Read {
				points = append(points, point(r, h.Read(r.Stats.Metrics), now))
			}
		}
		if len(points) == 0 {
			return nil, nil
		}
		scope.Metrics = append(scope.Metrics, metricdata.Metrics{
			Name: h.Name, Description: sentence(h.Text), Unit: "s",
			Data: metricdata.ExponentialHistogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality},
		})
	}
	return []metricdata.ScopeMetrics{scope}, nil
}

// point returns the histogram of a queue. OpenTelemetry numbers a bucket by its
// lower bound, and package exponential by its upper bound.
func point(r *registry.Reading, h stats.Histogram, now time.Time) metricdata.ExponentialHistogramDataPoint[float64] {
	buckets := exponential.Of(h)
	var positive metricdata.ExponentialBucket
	if len(buckets.Counts) > 0 {
		positive = metricdata.ExponentialBucket{Offset: int32(buckets.First - 1), Counts: buckets.Counts}
	}
	return metricdata.ExponentialHistogramDataPoint[float64]{
		Attributes: attribute.NewSet(nameKey.String(r.Name)),
		StartTime:  r.Since, Time: now,
		Count: h.Count, Sum: h.Sum.Seconds(),
		Scale: exponential.Schema, ZeroCount: buckets.Zero,
		PositiveBucket: positive,
	}
}
