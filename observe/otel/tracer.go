package shardqotel

import (
	"cmp"
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
	// Provider makes the tracer. Defaults to the global provider.
	Provider trace.TracerProvider
	// MaxLinks limits the adds of one item that are kept, and so the links of a
	// span. The last ones count. Defaults to 8.
	MaxLinks int
	// MaxItems limits the items whose adds are kept: see [Tracer.Forgotten].
	// Defaults to 100,000.
	MaxItems int
	// Item returns the attribute shardq.item of an item, which leaves the
	// process. If nil, spans have none.
	Item func(item T) string
	// Group adds the item's group as the attribute shardq.group.
	Group bool
	// Parent makes the span of the last add the parent of the attempt's span.
	// If false, each attempt begins a trace.
	Parent bool
	// Baggage gives the baggage of the last add to the handler's context.
	Baggage bool
}

// Keys is a queue that a [Tracer] traces: a [*shardq.Queue], or the view that
// the Queue method of a coalescer returns.
type Keys[T comparable] interface {
	Name() string
	Lookup(item T) (stats.Item[T], bool)
}

// A Tracer makes a span for each attempt of a handler, with links to the spans
// of the adds that the attempt serves. An attempt that fails leaves its links
// to the next one. After a [worker.RequeueAfter], the next attempt is linked to
// the span of this one. An add at the moment when an attempt begins may be
// linked to this attempt and the next, but is never missed. A batch has one
// span for all its items.
//
// It is made by [NewTracer]. All methods are safe for concurrent use.
type Tracer[T comparable] struct {
	queue   Keys[T]
	options TracerOptions[T]
	links   *links[T]
	tracer  trace.Tracer
}

// NewTracer returns a Tracer of a queue, or an error that lists every fault.
func NewTracer[T comparable](queue Keys[T], options TracerOptions[T]) (*Tracer[T], error) {
	var faults []error
	if v := reflect.ValueOf(queue); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		faults = append(faults, errors.New("shardqotel: NewTracer was called without a queue"))
	}
	limit := func(name string, n *int, otherwise int) {
		if *n = cmp.Or(*n, otherwise); *n < 0 {
			faults = append(faults, fmt.Errorf("shardqotel: TracerOptions.%s is %d: want 0 (the default) or more", name, *n))
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

// Forgotten returns how many adds have no link because of MaxItems.
func (t *Tracer[T]) Forgotten() uint64 { return t.links.forgotten.Load() }

// Handle returns a handler that calls next in a span: see [Process]. Used as a
// [worker.Middleware], it also gives the span the priority of the item and how
// many seconds the item waited. Handle panics if next is nil.
func (t *Tracer[T]) Handle(next func(ctx context.Context, item T) error) func(ctx context.Context, item T) error {
	return HandleKeyed(t, func(item T) T { return item }, next)
}

// HandleKeyed is [Tracer.Handle] for a handler of other items, such as the
// entries of a coalescer, whose keys are those of the Tracer. It panics if next
// or key is nil.
func HandleKeyed[E any, T comparable](
	t *Tracer[T], key func(item E) T, next func(ctx context.Context, item E) error,
) func(ctx context.Context, item E) error {
	requireFunctions(key != nil, next != nil)
	return func(ctx context.Context, item E) error {
		s := t.serve(key(item))
		defer s.end()
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

func requireFunctions(key, next bool) {
	if !next {
		panic("shardqotel: a traced handler has a nil next: want a handler")
	}
	if !key {
		panic("shardqotel: a traced handler has a nil key: want a function")
	}
}

func attributesOf[E any](ctx context.Context) (attributes []attribute.KeyValue) {
	if a, known := worker.AttemptOf[E](ctx); known {
		attributes = append(attributes, attribute.Int("shardq.priority", a.Priority()))
		if waited, known := a.Waited(); known {
			attributes = append(attributes, attribute.Float64("shardq.waited", waited.Seconds()))
		}
	}
	return attributes
}

// A service is what an attempt of an item serves. serve takes it, and end keeps
// what the next attempt serves.
type service[T comparable] struct {
	tracer *Tracer[T]
	item   T
	found  stats.Item[T]
	taken  pending
	again  pending // for the next attempt
}

func (t *Tracer[T]) serve(item T) *service[T] {
	taken := t.links.take(item)
	return &service[T]{tracer: t, item: item, taken: taken, again: taken}
}

func (s *service[T]) attempt(attributes []attribute.KeyValue) Attempt {
	a, options := attemptOf(s.tracer, attributes, s), &s.tracer.options
	a.Number = s.found.Attempts + 1
	if options.Group && s.found.Group != "" {
		a.Attributes = append(a.Attributes, attribute.String("shardq.group", s.found.Group))
	}
	if options.Item != nil {
		a.Attributes = append(a.Attributes, attribute.String("shardq.item", options.Item(s.item)))
	}
	if n := len(a.Links); n > 0 && options.Parent {
		a.Parent = a.Links[n-1].SpanContext
	}
	return a
}

func attemptOf[T comparable](t *Tracer[T], attributes []attribute.KeyValue, all ...*service[T]) Attempt {
	a, omitted := Attempt{tracer: t.tracer, Queue: t.queue.Name(), Attributes: attributes}, 0
	for _, s := range all {
		// An add that has made the item dirty is served by the next attempt, and
		// its link may be among those taken.
		if s.found, _ = t.queue.Lookup(s.item); s.found.Dirty {
			t.links.putBack(s.item, s.taken)
		}
		for _, one := range s.taken.links {
			a.Links = append(a.Links, trace.Link{SpanContext: one.span})
		}
		omitted += s.taken.omitted
	}
	if omitted > 0 {
		a.Attributes = append(a.Attributes, attribute.Int("shardq.links.omitted", omitted))
	}
	return a
}

// ended decides what the next attempt serves: a retry the same adds, and a
// requeue the attempt that has asked for it.
func (s *service[T]) ended(ctx context.Context, err error) {
	_, requeued := worker.RequeueDelay(err)
	switch {
	case err == nil || worker.IsPermanent(err):
		s.again = pending{}
	case requeued:
		s.again = pending{baggage: s.taken.baggage}
		if span := trace.SpanContextFromContext(ctx); span.IsValid() {
			s.again.links = []link{{s.tracer.links.ids.Add(1), span}}
		}
	}
}

func (s *service[T]) end() { s.tracer.links.putBack(s.item, s.again) }

// HandleBatch is [Tracer.Handle] for a handler of batches. A batch has one
// span, with the links of all its items and their number. The span has the
// status Error if an item has failed. It ignores the options Parent, Baggage,
// Item and Group. HandleBatch panics if next is nil.
func (t *Tracer[T]) HandleBatch(next func(ctx context.Context, items []T) []error) func(ctx context.Context, items []T) []error {
	return HandleBatchKeyed(t, func(item T) T { return item }, next)
}

// HandleBatchKeyed is [HandleKeyed] for a handler of batches.
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
		count := []attribute.KeyValue{attribute.Int("messaging.batch.message_count", len(all))}
		_ = Process(ctx, attemptOf(t, count, all...), func(ctx context.Context) error {
			errs = next(ctx, items)
			return ended(ctx, all, errs)
		})
		return errs
	}
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
