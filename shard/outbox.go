package shard

import (
	"sync"
	"sync/atomic"
)

// An outbox keeps calls of a hook while a shard is locked. They are made in
// their order once the lock is released. The outbox's own lock is a leaf. It
// has no methods, for the reason that a [chunked.Array] has none.
type outbox[E any] struct {
	mu      sync.Mutex
	kept    []E // the first of them, as many as sent says, were sent
	sent    int
	pending atomic.Bool // something is kept
	closed  bool        // nothing is kept any more
}

func keep[E any](o *outbox[E], reports ...E) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(reports) > 0 && !o.closed {
		o.kept = append(o.kept, reports...)
		o.pending.Store(true)
	}
}

// closeOutbox waits for no call: the hook itself may shut the queue down.
func closeOutbox[E any](o *outbox[E]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.kept, o.sent = true, nil, 0
	o.pending.Store(false)
}

// send calls a hook. The caller holds no lock, and does not own the timer. If
// the hook panics, the next call goes on with the others.
func send[E any](o *outbox[E], hook func(E)) {
	for o.pending.Load() {
		if report, ok := takeReport(o); ok {
			hook(report)
		}
	}
}

func takeReport[E any](o *outbox[E]) (report E, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent == len(o.kept) {
		return report, false
	}
	next := &o.kept[o.sent]
	report, *next = *next, report // the array must not keep the item
	if o.sent++; o.sent == len(o.kept) {
		o.kept, o.sent = o.kept[:0], 0
		if cap(o.kept) > mostSpareReports {
			o.kept = nil // after a burst
		}
		o.pending.Store(false)
	}
	return report, true
}

const mostSpareReports = 64

// abandoned are items of waiting Drains that a ShutDown dropped.
type abandoned[T comparable] struct {
	any   atomic.Bool // whether there ever were any
	mu    sync.Mutex  // a leaf
	items []T
}

func (a *abandoned[T]) add(items []T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.any.Store(true)
	a.items = append(a.items, items...)
}

func (a *abandoned[T]) take() []T {
	a.mu.Lock()
	defer a.mu.Unlock()
	items := a.items
	a.items = nil
	return items
}
