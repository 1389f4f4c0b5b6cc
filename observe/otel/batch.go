package shardqotel

import (
	"context"
	"fmt"

	"github.com/shardq/shardq/worker"
)

// HandleBatch is [Tracer.Handle] for a handler of batches. A batch has one
// span, with the links of all its items and their number. The span is an error
// if an item has failed. Providers limit the links of a span.
//
// A batch ignores the options Parent, Baggage, Item and Group of
// [TracerOptions]: its span begins a trace and names no item, and the context
// of next has no baggage of the adds.
//
// HandleBatch panics if next is nil.
func (t *Tracer[T]) HandleBatch(next func(ctx context.Context, items []T) []error) func(ctx context.Context, items []T) []error {
	requireHandler(next != nil, "Tracer.HandleBatch")
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
	requireHandler(next != nil, "HandleBatchKeyed")
	requireKey(key != nil, "HandleBatchKeyed")
	return func(ctx context.Context, items []E) (errs []error) {
		var b batch[T]
		defer b.end()
		for _, item := range items {
			b = append(b, t.serve(key(item)))
		}
		_ = Process(ctx, b.attempt(t), func(ctx context.Context) error {
			errs = next(ctx, items)
			return b.ended(ctx, errs)
		})
		return errs
	}
}

// A batch is what the attempts of several items serve.
type batch[T comparable] []*service[T]

// attempt describes the span of the batch.
func (b *batch[T]) attempt(t *Tracer[T]) Attempt {
	a := Attempt{tracer: t.tracer, Queue: t.queue.Name()}
	a.Attributes = append(a.Attributes, batchCountKey.Int(len(*b)))
	omitted := 0
	for _, s := range *b {
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
func (b *batch[T]) ended(ctx context.Context, errs []error) error {
	if errs == nil {
		errs = make([]error, len(*b))
	}
	if len(errs) != len(*b) {
		return fmt.Errorf("there are %d errors for %d items", len(errs), len(*b))
	}
	failed := 0
	for i, s := range *b {
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

func (b *batch[T]) end() {
	for _, s := range *b {
		s.end()
	}
}
