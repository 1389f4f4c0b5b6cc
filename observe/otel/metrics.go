package shardqotel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/stats"
)

// Scope is the name of the instrumentation scope of all metrics.
const Scope = "github.com/shardq/shardq/observe/otel"

// Options configure an [Observer].
type Options struct {
	// Groups is the number of groups of each queue with points of their own:
	// those with the most items, or in shardq.group.attempts those with the
	// most attempts. Each collection reads all groups that have items. If zero,
	// no groups are exported.
	Groups int
}

// An Observer exports queues to OpenTelemetry, and reads them at each
// collection. All methods are safe for concurrent use, and none holds a lock
// while it reads a queue.
//
// A queue that is shut down and empty disappears from the next collection.
// Until then, the Observer keeps it in memory. For a queue that is dropped
// without a shutdown, call Remove.
type Observer struct {
	registry registry.Registry
	options  Options
}

// NewObserver returns an Observer of queues, or an error that lists every fault
// of the options, or of the queues: see [Observer.Add].
func NewObserver(options Options, queues ...shardq.Inspector) (*Observer, error) {
	if options.Groups < 0 {
		return nil, fmt.Errorf("shardqotel: Options.Groups is %d: want 0 (none) or more", options.Groups)
	}
	o := &Observer{registry: registry.Registry{Exporter: "shardqotel"}, options: options}
	if err := o.Add(queues...); err != nil {
		return nil, err
	}
	return o, nil
}

// Add adds queues under their names. It adds all of them, or returns an error
// that lists every fault and adds none. Each must have [shardq.Options].Metrics
// set, and a name that no other queue of this Observer has.
func (o *Observer) Add(queues ...shardq.Inspector) error {
	return o.registry.Add(registry.RowsOf(queues)...)
}

// AddAs adds a queue as [Observer.Add] does, under a given name.
func (o *Observer) AddAs(name string, queue shardq.Inspector) error {
	return o.registry.Add(&registry.Row{Name: name, Queue: queue})
}

// Remove removes the queue of a name, and reports whether there was one.
func (o *Observer) Remove(name string) bool { return o.registry.Remove(name) }

// Register creates the instruments with a meter of the provider, and registers
// one callback that observes them. If it returns an error, it registers
// nothing. An Observer may be registered with several providers.
func (o *Observer) Register(provider metric.MeterProvider) (metric.Registration, error) {
	if provider == nil {
		return nil, errors.New("shardqotel: the provider is nil")
	}
	m, err := newInstruments(provider.Meter(Scope), o.options.Groups > 0)
	if err != nil {
		return nil, fmt.Errorf("shardqotel: %w", err)
	}
	registration, err := m.meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		for _, r := range o.registry.Read() {
			if err := ctx.Err(); err != nil {
				return err
			}
			m.observe(&r, o.options.Groups, to)
		}
		return nil
	}, m.all...)
	if err != nil {
		return nil, fmt.Errorf("shardqotel: %w", err)
	}
	return registration, nil
}

const (
	nameKey   = attribute.Key("workqueue.name")
	groupKey  = attribute.Key("shardq.group.name")
	stateKey  = attribute.Key("shardq.item.state")
	sourceKey = attribute.Key("shardq.source.name")
	resultKey = attribute.Key("shardq.attempt.result")
)

type instruments struct {
	meter   metric.Meter
	all     []metric.Observable
	faults  []error
	numbers []func(to metric.Observer, r *registry.Reading, name metric.ObserveOption)

	sources                                   []metric.Float64Observable
	failures, attempts, groups, groupAttempts metric.Int64Observable // the last two nil without groups
}

func newInstruments(meter metric.Meter, groups bool) (*instruments, error) {
	m := &instruments{meter: meter}
	for i := range series.Numbers {
		m.numbers = append(m.numbers, m.observer(&series.Numbers[i]))
	}
	m.failures, m.attempts = m.integer(series.Failures), m.integer(series.Attempts)
	for _, s := range series.Sources {
		made, _ := m.instrument(s.Description, true).(metric.Float64Observable)
		m.sources = append(m.sources, made)
	}
	if groups {
		m.groups, m.groupAttempts = m.integer(series.GroupItems), m.integer(series.GroupAttempts)
	}
	return m, errors.Join(m.faults...)
}

func (m *instruments) observer(n *series.Number) func(metric.Observer, *registry.Reading, metric.ObserveOption) {
	if n.Integer != nil {
		made := m.integer(n.Description)
		return func(to metric.Observer, r *registry.Reading, name metric.ObserveOption) {
			to.ObserveInt64(made, n.Integer(&r.Stats), name)
		}
	}
	made, _ := m.instrument(n.Description, true).(metric.Float64Observable)
	return func(to metric.Observer, r *registry.Reading, name metric.ObserveOption) {
		to.ObserveFloat64(made, n.Float(&r.Stats), name)
	}
}

func (m *instruments) integer(d series.Description) metric.Int64Observable {
	made, _ := m.instrument(d, false).(metric.Int64Observable)
	return made
}

// instrument makes an instrument. No counter is a float.
func (m *instruments) instrument(d series.Description, float bool) (made metric.Observable) {
	var err error
	unit, description := metric.WithUnit(d.Unit), metric.WithDescription(d.Text+".")
	switch {
	case float && d.Kind == series.Level:
		made, err = m.meter.Float64ObservableUpDownCounter(d.Name, unit, description)
	case float:
		made, err = m.meter.Float64ObservableGauge(d.Name, unit, description)
	case d.Kind == series.Counter:
		made, err = m.meter.Int64ObservableCounter(d.Name, unit, description)
	case d.Kind == series.Level:
		made, err = m.meter.Int64ObservableUpDownCounter(d.Name, unit, description)
	default:
		made, err = m.meter.Int64ObservableGauge(d.Name, unit, description)
	}
	m.all, m.faults = append(m.all, made), append(m.faults, err)
	return made
}

func (m *instruments) observe(r *registry.Reading, limit int, to metric.Observer) {
	name := nameKey.String(r.Name)
	with := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(append(more, name)...))
	}
	named := with()
	to.ObserveInt64(m.failures, int64(r.Failures), named)
	if !r.Read {
		return
	}
	for i, observe := range m.numbers {
		if series.Numbers[i].Has(r) {
			observe(to, r, named)
		}
	}
	for result, durations := range r.Stats.Metrics.Attempts.All() {
		to.ObserveInt64(m.attempts, int64(durations.Count), with(resultKey.String(result.String())))
	}
	for _, source := range r.Sources() {
		for i, s := range series.Sources {
			to.ObserveFloat64(m.sources[i], s.Value(&source), with(sourceKey.String(source.Name)))
		}
	}
	if m.groups == nil {
		return
	}
	for part, items := range r.Groups(limit) {
		to.ObserveInt64(m.groups, int64(items), with(groupKey.String(part.Group), stateKey.String(part.Of)))
	}
	for part, attempts := range r.GroupAttempts(limit) {
		to.ObserveInt64(m.groupAttempts, int64(attempts), with(groupKey.String(part.Group), resultKey.String(part.Of)))
	}
}

var _ sdkmetric.Producer = (*Observer)(nil)

// Produce returns the histograms of all queues, exponential ones of scale 3 and
// of cumulative temporality. Pass the Observer to the reader by
// [sdkmetric.WithProducer], or there are none.
func (o *Observer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	readings, now := o.registry.Read(), time.Now()
	scope := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: Scope}}
	add := func(name, text string, pointsOf func(r *registry.Reading) []point) {
		var points []point
		for i := range readings {
			if r := &readings[i]; r.Read {
				points = append(points, pointsOf(r)...)
			}
		}
		if len(points) > 0 {
			scope.Metrics = append(scope.Metrics, metricdata.Metrics{
				Name: name, Description: text + ".", Unit: "s",
				Data: metricdata.ExponentialHistogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality},
			})
		}
	}
	for _, h := range series.Histograms {
		add(h.Name, h.Text, func(r *registry.Reading) []point { return []point{newPoint(r, h.Read(r.Stats.Metrics), now)} })
	}
	attempts := func(attributes func(result stats.Result, queue string) []attribute.KeyValue) func(*registry.Reading) []point {
		return func(r *registry.Reading) (points []point) {
			for result, durations := range r.Stats.Metrics.Attempts.All() {
				if durations.Count > 0 {
					points = append(points, newPoint(r, *durations, now, attributes(result, r.Name)...))
				}
			}
			return points
		}
	}
	add(series.AttemptDuration.Name, series.AttemptDuration.Text, attempts(func(result stats.Result, _ string) []attribute.KeyValue {
		return []attribute.KeyValue{resultKey.String(result.String())}
	}))
	add("messaging.process.duration", "Duration of processing operation", attempts(conventional))
	if len(scope.Metrics) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{scope}, nil
}

// conventional returns the attributes of messaging.process.duration in the
// semantic conventions for messaging.
func conventional(result stats.Result, queue string) []attribute.KeyValue {
	all := []attribute.KeyValue{
		attribute.String("messaging.system", "shardq"), attribute.String("messaging.operation.name", "process"),
		attribute.String("messaging.destination.name", queue), resultKey.String(result.String()),
	}
	if result != stats.Succeeded && result != stats.Requeued {
		all = append(all, attribute.String("error.type", result.String()))
	}
	return all
}

type point = metricdata.ExponentialHistogramDataPoint[float64]

// newPoint returns a histogram. OpenTelemetry numbers a bucket by its lower
// bound, and series.BucketsOf by its upper bound.
func newPoint(r *registry.Reading, h stats.Histogram, now time.Time, more ...attribute.KeyValue) point {
	buckets := series.BucketsOf(h)
	var positive metricdata.ExponentialBucket
	if len(buckets.Counts) > 0 {
		positive = metricdata.ExponentialBucket{Offset: int32(buckets.First - 1), Counts: buckets.Counts}
	}
	return point{
		Attributes: attribute.NewSet(append(more, nameKey.String(r.Name))...),
		StartTime:  r.Since, Time: now, Count: h.Count, Sum: h.Sum.Seconds(),
		Scale: series.Schema, ZeroCount: buckets.Zero, PositiveBucket: positive,
	}
}
