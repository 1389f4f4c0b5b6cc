package shardqotel

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
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

	// MaxItems limits the items whose adds are kept: see [Tracer.Forgotten].
	//
	// Defaults to 100,000.
	MaxItems int

	// Item returns the attribute shardq.item of an item, which leaves the
	// process. If nil, spans have no such attribute.
	Item func(item T) string

	// Group adds the item's group as the attribute shardq.group.
	Group bool

	// Parent makes the span of the last add the parent of the attempt's span,
	// beside the links. If false, each attempt begins a trace.
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
	// A nil interface, or a nil pointer in one.
	v := reflect.ValueOf(queue)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		faults = append(faults, errors.New("shardqotel: NewTracer was called without a queue"))
	}
	limit := func(name string, n *int, otherwise int) {
		if *n < 0 {
			faults = append(faults, fmt.Errorf("shardqotel: TracerOptions.%s is %d: want 0 (the default) or more", name, *n))
		}
		if *n == 0 {
			*n = otherwise
		}
	}
	limit("MaxLinks", &options.MaxLinks, 8)
	limit("MaxItems", &options.MaxItems, 100_000)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return &Tracer[T]{
		queue: queue, options: options, tracer: tracerOf(options.Provider),
		links: newLinks(options.MaxLinks, options.MaxItems, queue.Lookup),
	}, nil
}

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
	return HandleKeyed(t, func(item T) T { return item }, next)
}

// HandleKeyed is [Tracer.Handle] for a handler of other items, whose keys are
// those of the Tracer: for example of the entries of a coalescer.
//
// HandleKeyed panics if next or key is nil.
func HandleKeyed[E any, T comparable](
	t *Tracer[T], key func(item E) T, next func(ctx context.Context, item E) error,
) func(ctx context.Context, item E) error {
	requireFunctions(key != nil, next != nil)
	return func(ctx context.Context, item E) error {
		s := t.serve(key(item))
		defer s.end()
		s.lookUp()
		if s.taken.baggage.Len() > 0 {
			ctx = baggage.ContextWithBaggage(ctx, s.taken.baggage)
		}
		return Process(ctx, s.attempt(attributesOf[E](ctx)), func(ctx context.Context) error {
			err := next(ctx, item)
			s.ended(ctx, err)
			return err
		})
	}
}

// requireFunctions panics for want of a function, which only a worker would
// notice.
func requireFunctions(key, next bool) {
	switch {
	case !next:
		panic("shardqotel: a traced handler has a nil next: want a handler")
	case !key:
		panic("shardqotel: a traced handler has a nil key: want a function")
	}
}

// attributesOf returns what the pool knows of the attempt, if the Tracer is in
// [worker.Options].Use.
func attributesOf[E any](ctx context.Context) (attributes []attribute.KeyValue) {
	if a, known := worker.AttemptOf[E](ctx); known {
		attributes = append(attributes, priorityKey.Int(a.Priority()))
		if waited := a.Waited(); waited > 0 {
			attributes = append(attributes, waitedKey.Float64(waited.Seconds()))
		}
	}
	return attributes
}

// A service is what an attempt of an item serves.
type service[T comparable] struct {
	tracer *Tracer[T]
	item   T
	found  stats.Item[T]
	taken  pending
	// again is what the next attempt serves, if this one does not return.
	again pending
}

// serve takes what an attempt serves. The caller must call end.
func (t *Tracer[T]) serve(item T) *service[T] {
	taken := t.links.take(item)
	return &service[T]{tracer: t, item: item, taken: taken, again: taken}
}

// lookUp looks up what the queue knows of the item. An add that has made it
// dirty is served by the next attempt, and its link may be among those taken.
func (s *service[T]) lookUp() {
	s.found, _ = s.tracer.queue.Lookup(s.item)
	if s.found.Dirty {
		s.tracer.links.putBack(s.item, s.taken)
	}
}

// attempt describes the span of the attempt.
func (s *service[T]) attempt(attributes []attribute.KeyValue) Attempt {
	t := s.tracer
	a := Attempt{tracer: t.tracer, Queue: t.queue.Name(), Links: s.taken.spans(), Number: s.found.Attempts + 1, Attributes: attributes}
	if s.taken.omitted > 0 {
		a.Attributes = append(a.Attributes, omittedLinksKey.Int(s.taken.omitted))
	}
	if t.options.Group && s.found.Group != "" {
		a.Attributes = append(a.Attributes, itemGroupKey.String(s.found.Group))
	}
	if t.options.Item != nil {
		a.Attributes = append(a.Attributes, itemKey.String(t.options.Item(s.item)))
	}
	if n := len(a.Links); n > 0 && t.options.Parent {
		a.Parent = a.Links[n-1].SpanContext
	}
	return a
}

// ended decides what the next attempt serves after an error. A retry serves the
// same adds. A requeue serves the attempt that has asked for it.
func (s *service[T]) ended(ctx context.Context, err error) {
	if err == nil || worker.IsPermanent(err) {
		s.again = pending{}
		return
	}
	if _, requeued := worker.RequeueDelay(err); !requeued {
		return
	}
	s.again = pending{baggage: s.taken.baggage}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		s.again.links = []link{{s.tracer.links.ids.Add(1), span}}
	}
}

// end keeps what the next attempt serves.
func (s *service[T]) end() { s.tracer.links.putBack(s.item, s.again) }

// spans returns the links of a span.
func (p pending) spans() (all []trace.Link) {
	for _, one := range p.links {
		all = append(all, trace.Link{SpanContext: one.span})
	}
	return all
}

// HandleBatch is [Tracer.Handle] for a handler of batches. A batch has one
// span, with the links of all its items and their number. The span is an error
// if an item has failed. Providers limit the links of a span.
//
// A batch ignores the options Parent, Baggage, Item and Group of
// [TracerOptions].
//
// HandleBatch panics if next is nil.
func (t *Tracer[T]) HandleBatch(next func(ctx context.Context, items []T) []error) func(ctx context.Context, items []T) []error {
	return HandleBatchKeyed(t, func(item T) T { return item }, next)
}

// HandleBatchKeyed is [Tracer.HandleBatch] for a handler of batches of other
// items, whose keys are those of the Tracer: for example of the entries of a
// coalescer.
//
// HandleBatchKeyed panics if next or key is nil.
func HandleBatchKeyed[E any, T comparable](
	t *Tracer[T], key func(item E) T, next func(ctx context.Context, items []E) []error,
) func(ctx context.Context, items []E) []error {
	requireFunctions(key != nil, next != nil)
	return func(ctx context.Context, items []E) (errs []error) {
		var all []*service[T]
		defer func() {
			for _, s := range all {
				s.end()
			}
		}()
		for _, item := range items {
			all = append(all, t.serve(key(item)))
		}
		_ = Process(ctx, attemptOf(t, all), func(ctx context.Context) error {
			errs = next(ctx, items)
			return ended(ctx, all, errs)
		})
		return errs
	}
}

// attemptOf describes the span of a batch.
func attemptOf[T comparable](t *Tracer[T], all []*service[T]) Attempt {
	a := Attempt{tracer: t.tracer, Queue: t.queue.Name(), Attributes: []attribute.KeyValue{batchCountKey.Int(len(all))}}
	omitted := 0
	for _, s := range all {
		s.lookUp()
		a.Links = append(a.Links, s.taken.spans()...)
		omitted += s.taken.omitted
	}
	if omitted > 0 {
		a.Attributes = append(a.Attributes, omittedLinksKey.Int(omitted))
	}
	return a
}

// ended is service.ended of each item. It returns the error of the batch.
func ended[T comparable](ctx context.Context, all []*service[T], errs []error) error {
	if errs == nil {
		errs = make([]error, len(all))
	}
	if len(errs) != len(all) {
		return fmt.Errorf("there are %d errors for %d items", len(errs), len(all))
	}
	failed := 0
	for i, s := range all {
		s.ended(ctx, errs[i])
		if _, requeued := worker.RequeueDelay(errs[i]); errs[i] != nil && !requeued {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d items failed", failed, len(errs))
	}
	return nil
}
