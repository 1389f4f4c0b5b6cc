package shardqotel

import (
	"context"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A service is what an attempt of an item serves.
type service[T comparable] struct {
	tracer *Tracer[T]
	item   T
	taken  pending
	// again is what the next attempt serves, if this one does not return.
	again pending
}

// serve takes what an attempt serves. The caller must call end.
func (t *Tracer[T]) serve(item T) *service[T] {
	taken := t.links.take(item)
	return &service[T]{tracer: t, item: item, taken: taken, again: taken}
}

// lookUp returns what the queue knows of the item. An add that has made it
// dirty is served by the next attempt, and its link may be among those taken.
func (s *service[T]) lookUp() (found stats.Item[T], held bool) {
	found, held = s.tracer.queue.Lookup(s.item)
	if found.Dirty {
		s.tracer.links.putBack(s.item, s.taken)
	}
	found.Item = s.item
	return found, held
}

// carried returns the context with the baggage of the last add.
func (s *service[T]) carried(ctx context.Context) context.Context {
	if s.taken.baggage.Len() == 0 {
		return ctx
	}
	return baggage.ContextWithBaggage(ctx, s.taken.baggage)
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
