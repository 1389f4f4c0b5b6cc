package shardqotel

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
)

const resultKey = attribute.Key("shardq.attempt.result")

// observeAttempts observes the attempts of workers by result.
func (m *measurements) observeAttempts(r *registry.Reading, to metric.Observer) {
	for _, result := range series.Results(r.Stats.Metrics) {
		to.ObserveInt64(m.attempts, int64(result.Durations.Count),
			metric.WithAttributes(nameKey.String(r.Name), resultKey.String(result.Name)))
	}
	if m.groupAttempts == nil {
		return
	}
	for _, g := range series.GroupResults(r, m.observer.options.Groups) {
		to.ObserveInt64(m.groupAttempts, int64(g.Attempts),
			metric.WithAttributes(nameKey.String(r.Name), groupKey.String(g.Group), resultKey.String(g.Result)))
	}
}

// attemptPoints returns the histograms of a queue's attempts, those of results
// that an attempt had.
func attemptPoints(r *registry.Reading, now time.Time) (points []exponentialPoint) {
	for _, result := range series.Results(r.Stats.Metrics) {
		if result.Durations.Count > 0 {
			p := point(r, result.Durations, now)
			p.Attributes = attribute.NewSet(nameKey.String(r.Name), resultKey.String(result.Name))
			points = append(points, p)
		}
	}
	return points
}
