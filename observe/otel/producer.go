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
	add := func(name, text string, pointsOf func(r *registry.Reading) []exponentialPoint) {
		var points []exponentialPoint
		for i := range readings {
			if r := &readings[i]; r.Read {
				points = append(points, pointsOf(r)...)
			}
		}
		if len(points) > 0 {
			scope.Metrics = append(scope.Metrics, metricdata.Metrics{
				Name: name, Description: sentence(text), Unit: "s",
				Data: metricdata.ExponentialHistogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality},
			})
		}
	}
	for _, h := range series.Histograms {
		add(h.Name, h.Text, func(r *registry.Reading) []exponentialPoint {
			return []exponentialPoint{point(r, h.Read(r.Stats.Metrics), now)}
		})
	}
	add(series.AttemptDuration.Name, series.AttemptDuration.Text, func(r *registry.Reading) []exponentialPoint {
		return attemptPoints(r, now)
	})
	if len(scope.Metrics) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{scope}, nil
}

type exponentialPoint = metricdata.ExponentialHistogramDataPoint[float64]

// point returns the histogram of a queue. OpenTelemetry numbers a bucket by its
// lower bound, and package exponential by its upper bound.
func point(r *registry.Reading, h stats.Histogram, now time.Time) exponentialPoint {
	buckets := exponential.Of(h)
	var positive metricdata.ExponentialBucket
	if len(buckets.Counts) > 0 {
		positive = metricdata.ExponentialBucket{Offset: int32(buckets.First - 1), Counts: buckets.Counts}
	}
	return exponentialPoint{
		Attributes: attribute.NewSet(nameKey.String(r.Name)),
		StartTime:  r.Since, Time: now,
		Count: h.Count, Sum: h.Sum.Seconds(),
		Scale: exponential.Schema, ZeroCount: buckets.Zero,
		PositiveBucket: positive,
	}
}
