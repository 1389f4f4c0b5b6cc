package shardqotel

import (
	"go.opentelemetry.io/otel/metric"

	"github.com/shardq/shardq/internal/series"
)

// makeInteger makes an instrument for a number of type int64.
func makeInteger(meter metric.Meter, d series.Description) (metric.Int64Observable, error) {
	unit, description := metric.WithUnit(d.Unit), metric.WithDescription(sentence(d.Text))
	switch d.Kind {
	case series.Counter:
		return meter.Int64ObservableCounter(d.Name, unit, description)
	case series.Level:
		return meter.Int64ObservableUpDownCounter(d.Name, unit, description)
	default:
		return meter.Int64ObservableGauge(d.Name, unit, description)
	}
}

// makeFloat makes an instrument for a number of type float64. No counter is
// one.
func makeFloat(meter metric.Meter, d series.Description) (metric.Float64Observable, error) {
	unit, description := metric.WithUnit(d.Unit), metric.WithDescription(sentence(d.Text))
	if d.Kind == series.Level {
		return meter.Float64ObservableUpDownCounter(d.Name, unit, description)
	}
	return meter.Float64ObservableGauge(d.Name, unit, description)
}

// sentence returns a text in the form of a description.
func sentence(text string) string { return text + "." }
