package shard

import (
	"sync"
	"sync/atomic"
)

// An outbox keeps calls of a hook under a shard's lock, to be made in their
// order once it is released. The outbox's own lock is a leaf.
type outbox[E any] struct {
	mu      sync.Mutex
	kept    []E // the first sent ones were sent
	sent    int
	pending atomic.Bool // something is kept
	closed  bool        // nothing is kept any more
}

func (o *outbox[E]) keep(reports ...E) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(reports) > 0 && !o.closed {
		o.kept = append(o.kept, reports...)
		o.pending.Store(true)
	}
}

// close waits for no call: the hook itself may shut the queue down.
func (o *outbox[E]) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.kept, o.sent = true, nil, 0
	o.pending.Store(false)
}

// send calls a hook. The caller holds no lock, and does not own the timer. If
// the hook panics, the next call goes on with the others.
func (o *outbox[E]) send(hook func(E)) {
	for o.pending.Load() {
		if report, ok := o.take(); ok {
			hook(report)
		}
	}
}

func (o *outbox[E]) take() (report E, ok bool) {
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
