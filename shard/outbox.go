package shard

import (
	"sync"

	"github.com/shardq/shardq/internal/shared"
)

// An outbox has what a hook still has to be called for, in its order. What is
// found under a shard's lock is kept here, and reported once the lock is
// released. The outbox's own lock is a leaf.
type outbox[E any] struct {
	mu   sync.Mutex
	kept []E
	// pending reports that something is kept.
	pending shared.Bool[shared.Timer]
	// closed reports that nothing is kept any more.
	closed bool
}

// keep keeps reports, unless the outbox is closed.
func (o *outbox[E]) keep(reports ...E) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(reports) > 0 && !o.closed {
		o.kept = append(o.kept, reports...)
		o.pending.Store(true)
	}
}

// close drops what is kept, so that the queue no longer refers to it. It does
// not wait for a call of the hook, because the hook itself may shut the queue
// down.
func (o *outbox[E]) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.kept = true, nil
	o.pending.Store(false)
}

// send calls a hook for what is kept. The caller holds no lock, and does not
// own the timer. If the hook panics, the next call goes on with the others.
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
	if len(o.kept) == 0 {
		return report, false
	}
	report, o.kept[0] = o.kept[0], report // the array must not keep the item
	if o.kept = o.kept[1:]; len(o.kept) == 0 {
		o.kept = nil
		o.pending.Store(false)
	}
	return report, true
}
