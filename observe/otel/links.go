package shardqotel

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/itemmap"
	"github.com/shardq/shardq/stats"
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

// An Adder adds items to a queue, with links: see [Tracer.Link]. Each method
// does what the queue's method of that name does. ctx is the context of the
// add.
type Adder[T comparable] struct {
	tracer *Tracer[T]
	queue  *shardq.Queue[T]
}

// Adder returns an Adder of the Tracer's queue. It panics if queue is nil, or
// is not the [shardq.Queue] that the Tracer was made for. For another type of
// [Keys] it cannot tell whether the queue is the right one: links for another
// queue would stay until they are swept.
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
	a.AddWith(ctx, item, shardq.AddOptions{After: delay})
}

// AddRateLimited is [shardq.Queue.AddRateLimited].
func (a Adder[T]) AddRateLimited(ctx context.Context, item T) {
	a.AddWith(ctx, item, shardq.AddOptions{RateLimited: true})
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

// Cancel is [shardq.Queue.Cancel]. It drops the links of the adds that it
// cancels, except the link of an add that runs at the same time.
func (a Adder[T]) Cancel(item T) shardq.Canceled {
	// An add that runs between the two calls keeps its item and its link.
	kept, _ := a.tracer.links.pending.Load(item)
	canceled := a.queue.Cancel(item)
	a.tracer.links.forget(item, kept.version)
	return canceled
}

// links are the spans of the adds that no attempt has served, by their items.
//
// An add is recorded before the queue gets it, and an attempt takes what is
// recorded after it was claimed, so it misses no add that it serves. The race
// on the other side: a worker claims the item, an add makes it dirty, and the
// worker takes the link of that add. Then the next run serves the add, and has
// no link. So an attempt leaves the links of adds that have not returned, and
// puts all links back if the item is dirty.
type links[T comparable] struct {
	pending   *xsync.MapOf[T, pending]
	each, all int // limits of the links of an item, and of the items
	lookup    func(T) (stats.Item[T], bool)
	ids       atomic.Uint64
	forgotten atomic.Uint64
	// news counts new items. A sweep is due at next, when as many have come as
	// the last one has left, so that the cost for each is constant, and at most
	// as many items are kept in vain as the queue holds.
	news, next atomic.Int64
	sweeping   atomic.Bool
}

// pending is kept beside an item. It is a value, and its slice does not change.
type pending struct {
	links   []link // oldest first
	omitted int    // links that were left out
	baggage baggage.Baggage
	adding  int    // adds that have not returned
	version uint64 // differs from that of every other value
}

func (p pending) has(id uint64) bool {
	return slices.ContainsFunc(p.links, func(one link) bool { return one.id == id })
}

type link struct {
	id   uint64
	span trace.SpanContext
}

func newLinks[T comparable](each, all int, lookup func(T) (stats.Item[T], bool)) *links[T] {
	l := &links[T]{pending: itemmap.New[T, pending](), each: each, all: all, lookup: lookup}
	l.next.Store(int64(min(fewest, all)))
	return l
}

// begin records an add before the queue gets it, or returns 0 without room.
func (l *links[T]) begin(item T, span trace.SpanContext, carried baggage.Baggage) (id uint64) {
	before, known := l.pending.Load(item)
	if !known && !l.hasRoom() {
		return 0
	}
	// Whatever is kept of an item that the queue does not hold was served, or
	// canceled, or dropped.
	stale := known && before.adding == 0 && !l.holds(item)
	id = l.ids.Add(1)
	l.pending.Compute(item, func(p pending, _ bool) (pending, bool) {
		if stale && p.version == before.version {
			p = pending{}
		}
		p.adding++
		return l.with(p, pending{links: []link{{id, span}}, baggage: carried}, id), false
	})
	return id
}

func (l *links[T]) end(item T, id uint64, failed bool) {
	l.pending.Compute(item, func(p pending, known bool) (pending, bool) {
		if !known {
			return p, true
		}
		p.adding--
		if failed {
			p.links = slices.DeleteFunc(slices.Clone(p.links), func(one link) bool { return one.id == id })
		}
		p.version = l.ids.Add(1)
		return p, p.adding == 0 && len(p.links) == 0
	})
}

func (l *links[T]) take(item T) (taken pending) {
	l.pending.Compute(item, func(p pending, _ bool) (pending, bool) {
		taken = p
		return p, p.adding == 0
	})
	return taken
}

// putBack keeps links for the next attempt, before those recorded since.
func (l *links[T]) putBack(item T, older pending) {
	if len(older.links) == 0 {
		return
	}
	if _, known := l.pending.Load(item); !known && !l.hasRoom() {
		return
	}
	l.pending.Compute(item, func(newer pending, _ bool) (pending, bool) {
		older.adding = newer.adding
		if newer.has(older.links[len(older.links)-1].id) { // they were left, and count once
			older.omitted = 0
		}
		return l.with(older, newer, l.ids.Add(1)), false
	})
}

// forget drops what is kept of an item, unless an add of it is in progress, or
// has begun since it had the version.
func (l *links[T]) forget(item T, version uint64) {
	l.pending.Compute(item, func(p pending, known bool) (pending, bool) {
		return p, !known || p.adding == 0 && p.version == version
	})
}

// with returns p with the links of newer appended, without duplicates and those
// that are too many.
func (l *links[T]) with(p, newer pending, version uint64) pending {
	all := slices.Clone(p.links)
	for _, one := range newer.links {
		if !p.has(one.id) {
			all = append(all, one)
		}
	}
	excess := max(0, len(all)-l.each)
	p.links, p.omitted, p.version = all[excess:], p.omitted+newer.omitted+excess, version
	if newer.baggage.Len() > 0 {
		p.baggage = newer.baggage
	}
	return p
}

func (l *links[T]) holds(item T) bool {
	_, held := l.lookup(item)
	return held
}

const fewest = 1024 // new items before a sweep

// hasRoom reports whether another item may be kept, and sweeps now and then.
func (l *links[T]) hasRoom() bool {
	if l.news.Add(1) > l.next.Load() && l.sweeping.CompareAndSwap(false, true) {
		defer l.sweeping.Store(false)
		l.sweep()
		l.news.Store(0)
		l.next.Store(int64(min(max(fewest, l.pending.Size()), l.all)))
	}
	if l.pending.Size() >= l.all {
		l.forgotten.Add(1)
		return false
	}
	return true
}

func (l *links[T]) sweep() {
	l.pending.Range(func(item T, found pending) bool {
		if found.adding == 0 && !l.holds(item) {
			l.forget(item, found.version)
		}
		return true
	})
}
