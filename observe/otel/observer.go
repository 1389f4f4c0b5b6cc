package shardqotel

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
)

// Scope is the name of the instrumentation scope of all metrics.
const Scope = "github.com/shardq/shardq/observe/otel"

// Options configure an [Observer]. The zero Options show no groups.
type Options struct {
	// Groups is how many groups of each queue are shown in shardq.group.items: those with the most
	// items. The others are added up in the group "other". Each collection goes through all groups
	// that have items. The package's documentation has how groups are named. Default: 0, none.
	Groups int
}

// An Observer shows queues to OpenTelemetry. It reads them when it is asked to, and does nothing in
// between: it has no goroutine, and the queues do not know of it. All methods are safe for
// concurrent use, and none holds a lock while a queue is read.
//
// A queue that is shut down and has nothing left to do disappears: the next collection shows it no
// more, and the Observer lets go of it. Until then it keeps a queue from being collected as
// garbage, also one that is dropped without a shutdown: Remove it.
type Observer struct {
	registry registry.Registry
	options  Options
}

// NewObserver returns an Observer of queues, to which [Observer.Add] adds more. The error names
// every fault of the options, or of the queues: see Add.
func NewObserver(options Options, queues ...shardq.Observable) (*Observer, error) {
	if options.Groups < 0 {
		return nil, fmt.Errorf("shardqotel: Options.Groups is %d: want 0 (none) or more", options.Groups)
	}
	o := &Observer{options: options}
	if err := o.Add(queues...); err != nil {
		return nil, err
	}
	return o, nil
}

// Add adds queues under their names: all of them, or none, and returns an error that names every
// fault. Each must be made with [shardq.Options].Metrics, and have a name that no other queue of
// this Observer has. For queues whose names are empty or equal there is [Observer.AddAs]. The name
// of a queue that is closed is free again.
func (o *Observer) Add(queues ...shardq.Observable) error {
	return o.add(registry.RowsOf(queues)...)
}

// AddAs is [Observer.Add] of a queue under a name that need not be its own.
func (o *Observer) AddAs(name string, queue shardq.Observable) error {
	return o.add(&registry.Row{Name: name, Queue: queue})
}

func (o *Observer) add(rows ...*registry.Row) error {
	if err := o.registry.Add(rows...); err != nil {
		return fmt.Errorf("shardqotel: %w", err)
	}
	return nil
}

// Remove takes out the queue that was added under a name, and reports whether there was one. A
// collection that is under way may still show it.
func (o *Observer) Remove(name string) bool { return o.registry.Remove(name) }

// Register makes the instruments with a meter of the provider, and has them observed by one
// callback, which locks the shards of each queue one after the other, briefly. The registration's
// Unregister ends that. An Observer may be registered with several providers. If there is an error,
// nothing is registered.
func (o *Observer) Register(provider metric.MeterProvider) (metric.Registration, error) {
	if provider == nil {
		return nil, errors.New("shardqotel: the provider is nil")
	}
	m, err := newMeasurements(provider.Meter(Scope), o)
	if err != nil {
		return nil, fmt.Errorf("shardqotel: %w", err)
	}
	registration, err := m.meter.RegisterCallback(m.observe, m.all...)
	if err != nil {
		return nil, fmt.Errorf("shardqotel: %w", err)
	}
	return registration, nil
}
