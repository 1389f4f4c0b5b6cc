package shardqotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
)

// The attributes of the metrics.
const (
	nameKey  = attribute.Key("workqueue.name")
	groupKey = attribute.Key("shardq.group.name")
	stateKey = attribute.Key("shardq.item.state")
)

// measurements are the instruments of a meter, with the numbers that they
// observe.
type measurements struct {
	observer *Observer
	meter    metric.Meter
	all      []metric.Observable
	integers []integer
	floats   []float
	failures metric.Int64Observable
	groups   metric.Int64Observable
	attempts metric.Int64Observable
	// groupAttempts is nil without groups.
	groupAttempts metric.Int64Observable
}

// An integer observes an int64, and a float observes a float64.
type (
	integer struct {
		metric.Int64Observable
		*series.Number
	}
	float struct {
		metric.Float64Observable
		*series.Number
	}
)

// newMeasurements makes all instruments.
func newMeasurements(meter metric.Meter, o *Observer) (*measurements, error) {
	m := &measurements{observer: o, meter: meter}
	var faults []error
	count := func(d series.Description) metric.Int64Observable {
		made, err := makeInteger(meter, d)
		faults = append(faults, err)
		m.all = append(m.all, made)
		return made
	}
	for i := range series.Numbers {
		n := &series.Numbers[i]
		if n.Integer != nil {
			m.integers = append(m.integers, integer{count(n.Description), n})
			continue
		}
		made, err := makeFloat(meter, n.Description)
		faults = append(faults, err)
		m.all = append(m.all, made)
		m.floats = append(m.floats, float{made, n})
	}
	m.failures = count(series.Failures)
	m.attempts = count(series.Attempts)
	if o.options.Groups > 0 {
		m.groups = count(series.GroupItems)
		m.groupAttempts = count(series.GroupAttempts)
	}
	return m, errors.Join(faults...)
}

// observe is the callback of the instruments.
func (m *measurements) observe(ctx context.Context, to metric.Observer) error {
	for _, r := range m.observer.registry.Read() {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.observeQueue(&r, to)
	}
	return nil
}

func (m *measurements) observeQueue(r *registry.Reading, to metric.Observer) {
	name := metric.WithAttributeSet(attribute.NewSet(nameKey.String(r.Name)))
	to.ObserveInt64(m.failures, int64(r.Failures), name)
	if !r.Read {
		return
	}
	for _, i := range m.integers {
		if i.Has(r) {
			to.ObserveInt64(i.Int64Observable, i.Integer(&r.Stats), name)
		}
	}
	for _, f := range m.floats {
		if f.Has(r) {
			to.ObserveFloat64(f.Float64Observable, f.Float(&r.Stats), name)
		}
	}
	m.observeAttempts(r, to)
	if m.groups != nil {
		m.observeGroups(r, to)
	}
}

func (m *measurements) observeGroups(r *registry.Reading, to metric.Observer) {
	for _, g := range series.Groups(r, m.observer.options.Groups) {
		to.ObserveInt64(m.groups, int64(g.Items),
			metric.WithAttributes(nameKey.String(r.Name), groupKey.String(g.Group), stateKey.String(g.State)))
	}
}
