package shardqotel

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// TracerOptions configure a [Tracer].
type TracerOptions[T comparable] struct {
	// Provider makes the tracer.
	//
	// Defaults to the global provider.
	Provider trace.TracerProvider

	// MaxLinks limits the adds of one item that are kept, and so the links of a
	// span. The last ones count. The span says how many were left out.
	//
	// Defaults to 8.
	MaxLinks int

	// MaxItems limits the items whose adds are kept. Spans of others have no
	// links, and [Tracer.Forgotten] counts them.
	//
	// Defaults to 100,000.
	MaxItems int

	// Item returns the attribute shardq.item of an item. What it returns leaves
	// the process.
	//
	// If nil, spans have no such attribute. Those of batches have none.
	Item func(item T) string

	// Group adds the item's group as the attribute shardq.group.
	Group bool

	// Parent makes the span of the last add the parent of the attempt's span,
	// beside the links. So the attempt is in the trace of that add. If false,
	// each attempt begins a trace.
	Parent bool

	// Baggage gives the baggage of the last add to the handler's context.
	Baggage bool
}

// Keys is a queue that a [Tracer] traces: a [*shardq.Queue], or the view that
// the Queue method of a coalescer returns.
type Keys[T comparable] interface {
	// Name is [shardq.Queue.Name].
	Name() string
	// Lookup is [shardq.Queue.Lookup].
	Lookup(item T) (stats.Item[T], bool)
}

// A Tracer makes a span for each attempt of a handler, with links to the spans
// of the adds that the attempt serves: see the package documentation. It is
// made by [NewTracer]. All methods are safe for concurrent use.
type Tracer[T comparable] struct {
	queue   Keys[T]
	options TracerOptions[T]
	links   *links[T]
	tracer  trace.Tracer
}

// NewTracer returns a Tracer of a queue, or an error that lists every fault of
// the options. The queue does not know it.
func NewTracer[T comparable](queue Keys[T], options TracerOptions[T]) (*Tracer[T], error) {
	var faults []error
	if isNil(queue) {
		faults = append(faults, errors.New("shardqotel: NewTracer was called without a queue"))
	}
	if options.MaxLinks < 0 {
		faults = append(faults, fmt.Errorf("shardqotel: TracerOptions.MaxLinks is %d: want 0 (the default) or more", options.MaxLinks))
	}
	if options.MaxItems < 0 {
		faults = append(faults, fmt.Errorf("shardqotel: TracerOptions.MaxItems is %d: want 0 (the default) or more", options.MaxItems))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if options.MaxLinks == 0 {
		options.MaxLinks = 8
	}
	if options.MaxItems == 0 {
		options.MaxItems = 100_000
	}
	return &Tracer[T]{
		queue: queue, options: options, tracer: tracerOf(options.Provider),
		links: newLinks(options.MaxLinks, options.MaxItems, queue.Lookup),
	}, nil
}

// isNil reports whether there is no queue: a nil interface, or a nil pointer in
// one.
func isNil[T comparable](queue Keys[T]) bool {
	v := reflect.ValueOf(queue)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Forget drops the links of an item. Call it after a Cancel that is not
// [Adder.Cancel]. An add of the item between the two loses its link.
func (t *Tracer[T]) Forget(item T) { t.links.forget(item) }

// Len returns the number of items of which adds are kept.
func (t *Tracer[T]) Len() int { return t.links.pending.Size() }

// Forgotten returns how many adds have no link, because there were MaxItems
// items.
func (t *Tracer[T]) Forgotten() uint64 { return t.links.forgotten.Load() }

// Handle returns a handler that calls next in a span: see [Process]. It is a
// [worker.Middleware], too, and then the span has the priority of the item and
// how many seconds it waited:
//
//	Use: []worker.Middleware[string]{tracer.Handle}
//
// Handle panics if next is nil.
func (t *Tracer[T]) Handle(next func(ctx context.Context, item T) error) func(ctx context.Context, item T) error {
	requireHandler(next != nil, "Tracer.Handle")
	return HandleKeyed(t, func(item T) T { return item }, next)
}

// HandleKeyed is [Tracer.Handle] for a handler of other items, whose keys are
// those of the Tracer: for example of the entries of a coalescer.
//
// HandleKeyed panics if next or key is nil.
func HandleKeyed[E any, T comparable](
	t *Tracer[T], key func(item E) T, next func(ctx context.Context, item E) error,
) func(ctx context.Context, item E) error {
	requireHandler(next != nil, "HandleKeyed")
	requireKey(key != nil, "HandleKeyed")
	return func(ctx context.Context, item E) error {
		return t.process(ctx, key(item), attributesOf[E](ctx), func(ctx context.Context) error { return next(ctx, item) })
	}
}

func requireHandler(is bool, function string) {
	if !is {
		panic("shardqotel: " + function + " was called with a nil next: want a handler")
	}
}

func requireKey(is bool, function string) {
	if !is {
		panic("shardqotel: " + function + " was called with a nil key: want a function")
	}
}

// attributesOf returns what the pool knows of the attempt, if the Tracer is in
// [worker.Options].Use.
func attributesOf[E any](ctx context.Context) (attributes []attribute.KeyValue) {
	a, known := worker.AttemptOf[E](ctx)
	if !known {
		return nil
	}
	attributes = append(attributes, priorityKey.Int(a.Priority()))
	if waited := a.Waited(); waited > 0 {
		attributes = append(attributes, waitedKey.Float64(waited.Seconds()))
	}
	return attributes
}

// process calls handle in the span of an attempt.
func (t *Tracer[T]) process(
	ctx context.Context, item T, attributes []attribute.KeyValue, handle func(context.Context) error,
) error {
	s := t.serve(item)
	defer s.end()
	found, _ := s.lookUp()
	a := t.attempt(found, s.taken)
	a.Number = found.Attempts + 1
	a.Attributes = append(a.Attributes, attributes...)
	return Process(s.carried(ctx), a, func(ctx context.Context) error {
		err := handle(ctx)
		s.ended(ctx, err)
		return err
	})
}

// attempt describes the span of an attempt, as far as the item is concerned.
func (t *Tracer[T]) attempt(found stats.Item[T], taken pending) Attempt {
	a := Attempt{tracer: t.tracer, Queue: t.queue.Name(), Links: taken.spans()}
	add := func(is bool, attribute attribute.KeyValue) {
		if is {
			a.Attributes = append(a.Attributes, attribute)
		}
	}
	add(taken.omitted > 0, omittedLinksKey.Int(taken.omitted))
	add(t.options.Group && found.Group != "", itemGroupKey.String(found.Group))
	if t.options.Item != nil {
		add(true, itemKey.String(t.options.Item(found.Item)))
	}
	if n := len(a.Links); n > 0 && t.options.Parent {
		a.Parent = a.Links[n-1].SpanContext
	}
	return a
}
