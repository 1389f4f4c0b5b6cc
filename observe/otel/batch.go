package shardqotel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/shardq/shardq/worker"
)

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
