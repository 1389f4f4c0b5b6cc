package shardqotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/shardq/shardq/internal/roster"
)

// The attributes.
const (
	nameKey  = attribute.Key("workqueue.name")
	groupKey = attribute.Key("shardq.group.name")
	stateKey = attribute.Key("shardq.item.state")
)

// measurements are the instruments of a meter, with what they observe.
type measurements struct {
	observer *Observer
	meter    metric.Meter
	all      []metric.Observable
	integers []integer
	numbers  []number
	failures metric.Int64Observable
	groups   metric.Int64Observable
}

// An integer is an instrument that counts.
type integer struct {
	metric.Int64Observable
	instrument
}

// A number is an instrument that measures.
type number struct {
	metric.Float64Observable
	instrument
}

// newMeasurements makes all instruments.
func newMeasurements(meter metric.Meter, o *Observer) (*measurements, error) {
	m := &measurements{observer: o, meter: meter}
	var faults []error
	count := func(i instrument) metric.Int64Observable {
		made, err := i.makeInteger(meter)
		faults = append(faults, err)
		m.all = append(m.all, made)
		return made
	}
	for _, i := range instruments {
		if i.integer != nil {
			m.integers = append(m.integers, integer{count(i), i})
			continue
		}
		made, err := i.makeNumber(meter)
		faults = append(faults, err)
		m.all = append(m.all, made)
		m.numbers = append(m.numbers, number{made, i})
	}
	m.failures = count(failures)
	if o.options.Groups > 0 {
		m.groups = count(groupItems)
	}
	return m, errors.Join(faults...)
}

// observe is the callback.
func (m *measurements) observe(ctx context.Context, to metric.Observer) error {
	for _, r := range m.observer.roster.Read() {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.observeQueue(&r, to)
	}
	return nil
}

func (m *measurements) observeQueue(r *roster.Reading, to metric.Observer) {
	name := metric.WithAttributeSet(attribute.NewSet(nameKey.String(r.Name)))
	to.ObserveInt64(m.failures, int64(r.Failures), name)
	if !r.Read {
		return
	}
	for _, i := range m.integers {
		if i.has(r) {
			to.ObserveInt64(i.Int64Observable, i.integer(&r.Stats), name)
		}
	}
	for _, i := range m.numbers {
		if i.has(r) {
			to.ObserveFloat64(i.Float64Observable, i.number(&r.Stats), name)
		}
	}
	if m.groups != nil {
		m.observeGroups(r, to)
	}
}

func (m *measurements) observeGroups(r *roster.Reading, to metric.Observer) {
	show := func(group, state string, n int) {
		to.ObserveInt64(m.groups, int64(n), metric.WithAttributes(nameKey.String(r.Name), groupKey.String(group), stateKey.String(state)))
	}
	for group, g := range r.Groups(m.observer.options.Groups) {
		show(group, "ready", g.Ready)
		show(group, "processing", g.Processing)
		show(group, "waiting", g.Held-g.Ready-g.Processing)
	}
}
