package shardqotel

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardq/shardq"
)

// Link calls add, which must add item to the queue, and returns its error. The
// next attempt of item gets a link to the span in ctx, unless add fails or
// panics.
//
// [Tracer.Adder] is the short form for a queue. Link is for a coalescer and
// other calls:
//
//	err := tracer.Link(ctx, key, func() error { return views.Put(key, 1) })
func (t *Tracer[T]) Link(ctx context.Context, item T, add func() error) error {
	span, id := trace.SpanContextFromContext(ctx), uint64(0)
	if span.IsValid() && item == item { // the queue rejects what is not equal to itself
		var carried baggage.Baggage
		if t.options.Baggage {
			carried = baggage.FromContext(ctx)
		}
		id = t.links.begin(item, span, carried)
	}
	if id == 0 {
		return add()
	}
	failed := true
	defer func() { t.links.end(item, id, failed) }()
	err := add()
	failed = err != nil
	return err
}

// An Adder adds items to a queue, with links: see [Tracer.Link]. Each method is
// that of the queue, with the context of the add.
type Adder[T comparable] struct {
	tracer *Tracer[T]
	queue  *shardq.Queue[T]
}

// Adder returns an Adder of the Tracer's queue. It panics if queue is nil, or
// is not the [shardq.Queue] that the Tracer was made for. Of another [Keys] it
// cannot tell: links for another queue would stay until they are swept.
func (t *Tracer[T]) Adder(queue *shardq.Queue[T]) Adder[T] {
	if queue == nil {
		panic("shardqotel: Tracer.Adder was called with nil: want the queue of the Tracer")
	}
	if own, is := t.queue.(*shardq.Queue[T]); is && own != queue {
		panic(fmt.Sprintf("shardqotel: Tracer.Adder was called with another queue, %q: want that of the Tracer, %q",
			queue.Name(), t.queue.Name()))
	}
	return Adder[T]{t, queue}
}

// Add is [shardq.Queue.Add].
func (a Adder[T]) Add(ctx context.Context, item T) { a.AddWith(ctx, item, shardq.AddOptions{}) }

// AddAfter is [shardq.Queue.AddAfter].
func (a Adder[T]) AddAfter(ctx context.Context, item T, delay time.Duration) {
	a.link(ctx, item, func() { a.queue.AddAfter(item, delay) })
}

// AddRateLimited is [shardq.Queue.AddRateLimited].
func (a Adder[T]) AddRateLimited(ctx context.Context, item T) {
	a.link(ctx, item, func() { a.queue.AddRateLimited(item) })
}

func (a Adder[T]) link(ctx context.Context, item T, add func()) {
	_ = a.tracer.Link(ctx, item, func() error {
		add()
		return nil
	})
}

// AddWith is [shardq.Queue.AddWith]. An add that its window refuses gets no
// link.
func (a Adder[T]) AddWith(ctx context.Context, item T, options shardq.AddOptions) {
	adder := a.queue.Inspect().(interface {
		AddWith(T, shardq.AddOptions) error
	})
	_ = a.tracer.Link(ctx, item, func() error { return adder.AddWith(item, options) })
}

// AddBatch adds the items one after the other, each as AddWith does.
func (a Adder[T]) AddBatch(ctx context.Context, items []T, options shardq.AddOptions) {
	for _, item := range items {
		a.AddWith(ctx, item, options)
	}
}

// TryAdd is [shardq.Queue.TryAdd].
func (a Adder[T]) TryAdd(ctx context.Context, item T, options shardq.AddOptions) error {
	return a.tracer.Link(ctx, item, func() error { return a.queue.TryAdd(item, options) })
}

// AddContext is [shardq.Queue.AddContext].
func (a Adder[T]) AddContext(ctx context.Context, item T, options shardq.AddOptions) error {
	return a.tracer.Link(ctx, item, func() error { return a.queue.AddContext(ctx, item, options) })
}

// Cancel is [shardq.Queue.Cancel]. Canceled adds get no link, except of an add
// that runs at the same time.
func (a Adder[T]) Cancel(item T) shardq.Canceled {
	// An add that runs between the two calls keeps its item and its link.
	kept, _ := a.tracer.links.pending.Load(item)
	canceled := a.queue.Cancel(item)
	a.tracer.links.forget(item, kept.version)
	return canceled
}
