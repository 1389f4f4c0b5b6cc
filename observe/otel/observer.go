package shardqotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
)

// Scope is the name of the instrumentation scope of all metrics.
const Scope = "github.com/shardq/shardq/observe/otel"

// Options configure an [Observer].
type Options struct {
	// Groups is the number of groups of each queue that have points of their
	// own: in shardq.group.items those with the most items, and in
	// shardq.group.attempts those with the most attempts of workers. Each
	// collection reads all groups that have items.
	//
	// If zero, no groups are exported.
	Groups int
}

// An Observer exports queues to OpenTelemetry. It reads them at each
// collection, and does nothing in between. All methods are safe for concurrent
// use, and none holds a lock while it reads a queue.
//
// A queue that is shut down and empty disappears from the next collection, and
// the Observer drops its reference. Until then the Observer keeps the queue
// alive, also if the program drops it without a shutdown: call Remove.
type Observer struct {
	registry registry.Registry
	options  Options
}

// NewObserver returns an Observer of queues. [Observer.Add] adds more. The
// error lists every fault of the options, or of the queues: see Add.
func NewObserver(options Options, queues ...shardq.Inspector) (*Observer, error) {
	if options.Groups < 0 {
		return nil, fmt.Errorf("shardqotel: Options.Groups is %d: want 0 (none) or more", options.Groups)
	}
	o := &Observer{options: options}
	if err := o.Add(queues...); err != nil {
		return nil, err
	}
	return o, nil
}

// Add adds queues under their names. It adds all of them, or returns an error
// that lists every fault and adds none. Each queue must have
// [shardq.Options].Metrics set, and a name that no other queue of this Observer
// has.
func (o *Observer) Add(queues ...shardq.Inspector) error {
	return o.add(registry.RowsOf(queues)...)
}

// AddAs adds a queue as [Observer.Add] does, under a given name in place of its
// own.
func (o *Observer) AddAs(name string, queue shardq.Inspector) error {
	return o.add(&registry.Row{Name: name, Queue: queue})
}

func (o *Observer) add(rows ...*registry.Row) error {
	if err := o.registry.Add(rows...); err != nil {
		return fmt.Errorf("shardqotel: %w", err)
	}
	return nil
}

// Remove removes the queue that was added under a name, and reports whether
// there was one. A collection in progress may still export it.
func (o *Observer) Remove(name string) bool { return o.registry.Remove(name) }

// Register creates the instruments with a meter of the provider, and registers
// one callback that observes them. Unregister of the returned registration ends
// it. An Observer may be registered with several providers. If Register returns
// an error, nothing is registered.
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
