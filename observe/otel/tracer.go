package shardqotel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardq/shardq"
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
	// If nil, spans have no such attribute.
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
}

// NewTracer returns a Tracer of a queue, or an error that lists every fault of
// the options. The queue does not know it.
func NewTracer[T comparable](queue Keys[T], options TracerOptions[T]) (*Tracer[T], error) {
	var faults []error
	if queue == nil {
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
	return &Tracer[T]{queue, options, newLinks(options.MaxLinks, options.MaxItems, queue.Lookup)}, nil
}

// Link calls add, which must add item to the queue, and returns its error. The
// next attempt of item gets a link to the span in ctx. If add returns an error
// or panics, there is no link.
//
// [Tracer.Adder] is the short form for a queue. Link is for a coalescer and for
// other calls:
//
//	err := tracer.Link(ctx, key, func() error { return views.Put(key, 1) })
//
// If ctx has no span, Link calls add, and keeps nothing.
func (t *Tracer[T]) Link(ctx context.Context, item T, add func() error) error {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() || item != item { // the queue rejects what is not equal to itself
		return add()
	}
	var carried baggage.Baggage
	if t.options.Baggage {
		carried = baggage.FromContext(ctx)
	}
	id := t.links.begin(item, span, carried)
	if id == 0 {
		return add()
	}
	failed := true
	defer func() { t.links.end(item, id, failed) }()
	err := add()
	failed = err != nil
	return err
}

// Forget drops the links of an item. Adder.Cancel calls it.
func (t *Tracer[T]) Forget(item T) { t.links.forget(item) }

// Len returns the number of items of which adds are kept.
func (t *Tracer[T]) Len() int { return t.links.pending.Size() }

// Forgotten returns how many adds have no link, because there were MaxItems
// items.
func (t *Tracer[T]) Forgotten() uint64 { return t.links.forgotten.Load() }

// Handle returns a handler that calls next in a span: see [Process].
func (t *Tracer[T]) Handle(next func(ctx context.Context, item T) error) func(ctx context.Context, item T) error {
	return HandleKeyed(t, func(item T) T { return item }, next)
}

// HandleKeyed is [Tracer.Handle] for a handler of other items, whose keys are
// those of the Tracer: for example of the entries of a coalescer.
func HandleKeyed[E any, T comparable](
	t *Tracer[T], key func(item E) T, next func(ctx context.Context, item E) error,
) func(ctx context.Context, item E) error {
	return func(ctx context.Context, item E) error {
		return t.process(ctx, key(item), func(ctx context.Context) error { return next(ctx, item) })
	}
}

// process calls handle in the span of an attempt.
func (t *Tracer[T]) process(ctx context.Context, item T, handle func(context.Context) error) (err error) {
	taken := t.links.take(item)
	again := taken // for the next attempt, if this one does not return
	defer func() { t.links.putBack(item, again) }()
	found, _ := t.queue.Lookup(item)
	if found.Dirty { // since before the links were taken, perhaps
		t.links.putBack(item, taken)
	}
	a := t.attempt(item, taken, found)
	if taken.baggage.Len() > 0 {
		ctx = baggage.ContextWithBaggage(ctx, taken.baggage)
	}
	err = Process(ctx, a, func(ctx context.Context) error {
		err := handle(ctx)
		again = t.again(ctx, taken, err)
		return err
	})
	return err
}

// again returns what the next attempt links to if this one ends with err. A
// retry serves the same adds. A requeue serves the attempt that has asked for
// it.
func (t *Tracer[T]) again(ctx context.Context, taken pending, err error) pending {
	if err == nil || worker.IsPermanent(err) {
		return pending{}
	}
	if _, requeued := worker.RequeueDelay(err); requeued {
		span := trace.SpanContextFromContext(ctx)
		if !span.IsValid() {
			return pending{}
		}
		return pending{links: []link{{t.links.ids.Add(1), span}}, baggage: taken.baggage}
	}
	return taken
}

// attempt describes the span.
func (t *Tracer[T]) attempt(item T, taken pending, found stats.Item[T]) Attempt {
	a := Attempt{Provider: t.options.Provider, Queue: t.queue.Name(), Number: found.Attempts + 1}
	add := func(is bool, attribute attribute.KeyValue) {
		if is {
			a.Attributes = append(a.Attributes, attribute)
		}
	}
	add(taken.omitted > 0, omittedLinksKey.Int(taken.omitted))
	add(t.options.Group && found.Group != "", itemGroupKey.String(found.Group))
	if t.options.Item != nil {
		add(true, itemKey.String(t.options.Item(item)))
	}
	for _, one := range taken.links {
		a.Links = append(a.Links, trace.Link{SpanContext: one.span})
	}
	if n := len(taken.links); n > 0 && t.options.Parent {
		a.Parent = taken.links[n-1].span
	}
	return a
}

// An Adder adds items to a queue, with links: see [Tracer.Link]. Each method is
// that of the queue, with the context of the add. It is a small value.
type Adder[T comparable] struct {
	tracer *Tracer[T]
	queue  *shardq.Queue[T]
}

// Adder returns an Adder of the Tracer's queue.
func (t *Tracer[T]) Adder(queue *shardq.Queue[T]) Adder[T] { return Adder[T]{t, queue} }

func (a Adder[T]) link(ctx context.Context, item T, add func()) {
	_ = a.tracer.Link(ctx, item, func() error {
		add()
		return nil
	})
}

// Add is [shardq.Queue.Add].
func (a Adder[T]) Add(ctx context.Context, item T) {
	a.link(ctx, item, func() { a.queue.Add(item) })
}

// AddAfter is [shardq.Queue.AddAfter].
func (a Adder[T]) AddAfter(ctx context.Context, item T, delay time.Duration) {
	a.link(ctx, item, func() { a.queue.AddAfter(item, delay) })
}

// AddWith is [shardq.Queue.AddWith].
func (a Adder[T]) AddWith(ctx context.Context, item T, options shardq.AddOptions) {
	a.link(ctx, item, func() { a.queue.AddWith(item, options) })
}

// AddRateLimited is [shardq.Queue.AddRateLimited].
func (a Adder[T]) AddRateLimited(ctx context.Context, item T) {
	a.link(ctx, item, func() { a.queue.AddRateLimited(item) })
}

// TryAdd is [shardq.Queue.TryAdd].
func (a Adder[T]) TryAdd(ctx context.Context, item T) error {
	return a.tracer.Link(ctx, item, func() error { return a.queue.TryAdd(item) })
}

// AddContext is [shardq.Queue.AddContext].
func (a Adder[T]) AddContext(ctx context.Context, item T) error {
	return a.tracer.Link(ctx, item, func() error { return a.queue.AddContext(ctx, item) })
}

// Cancel is [shardq.Queue.Cancel]. The canceled adds get no link.
func (a Adder[T]) Cancel(item T) shardq.Canceled {
	canceled := a.queue.Cancel(item)
	a.tracer.Forget(item)
	return canceled
}
