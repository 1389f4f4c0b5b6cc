package shardqotel

import (
	"context"
	"fmt"

	"github.com/shardq/shardq/worker"
)

// HandleBatch is [Tracer.Handle] for a handler of batches. A batch has one
// span, with the links of all its items and their number. It is an error if an
// item has failed. Providers limit the links of a span.
func (t *Tracer[T]) HandleBatch(next func(ctx context.Context, items []T) []error) func(ctx context.Context, items []T) []error {
	return func(ctx context.Context, items []T) (errs []error) {
		var b batch[T]
		defer b.end()
		_ = Process(ctx, b.begin(t, items), func(ctx context.Context) error {
			errs = next(ctx, items)
			return b.ended(ctx, errs)
		})
		return errs
	}
}

// A batch is what the attempts of several items serve.
type batch[T comparable] []*service[T]

// begin takes what the attempts serve, and describes their span.
func (b *batch[T]) begin(t *Tracer[T], items []T) Attempt {
	a := Attempt{tracer: t.tracer, Queue: t.queue.Name()}
	a.Attributes = append(a.Attributes, batchCountKey.Int(len(items)))
	for _, item := range items {
		s := t.serve(item)
		*b = append(*b, s)
		s.lookUp()
		a.Links = append(a.Links, s.taken.spans()...)
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
