package harness

import "github.com/shardq/shardq"

// Cancels in the ledger (C39): no run of a key begins after a Cancel, unless an
// add ended after the Cancel began.

// A cancellation is a Cancel during which no actor added the key. As long as no
// further add begins, no later Get may return the key.
type cancellation struct {
	adds uint64
	over int64 // the stamp after the Cancel
}

// withdrawing is called before a Cancel. It returns nil if an actor is adding
// the key.
func (l *ledger) withdrawing(key int) *cancellation {
	r := &l.keys[key]
	ended := r.ended.Load() // first: an add in progress then counts as begun below
	if begun := r.wanted.Load(); begun == ended {
		return &cancellation{adds: begun}
	}
	return nil
}

// withdrawn is called after the Cancel.
func (l *ledger) withdrawn(key int, c *cancellation, took bool) {
	r := &l.keys[key]
	if took {
		raise(&r.excused, r.wanted.Load())
	}
	if c != nil {
		c.over = now()
		r.canceled.Store(c)
	}
}

// checkCanceled is called after a Get.
func (l *ledger) checkCanceled(key int, r *record, called int64) {
	if l.retried { // perhaps because of a failure
		return
	}
	if c := r.canceled.Load(); c != nil && called > c.over && r.wanted.Load() == c.adds {
		l.violated.report("C39", key, "key %d was handed out after a Cancel, and no actor had added it since", key)
	}
}

// cancel calls Cancel. It reports false if user code panicked before it had an
// effect.
func (a *actor) cancel(key int) (was shardq.Canceled, ok bool) {
	if !a.affordable(opAdd, key) {
		return was, false
	}
	a.sign()
	var c *cancellation
	if a.ledger != nil {
		c = a.ledger.withdrawing(key)
	}
	e := event{operation: opCancel, key: int32(key), call: now()}
	if a.ledger != nil {
		defer a.ledger.closeWindow(key)()
	}
	if attempt(func() { was = a.queue.cancel(key) }) != noPanic {
		return was, false
	}
	e.end, e.was = now(), was
	a.asked.canceled(was)
	if a.ledger != nil {
		a.ledger.withdrawn(key, c, was.Any())
	}
	a.record(e)
	return was, true
}

// cancelHeld cancels the key that a worker holds. The key is not ready, even if
// another actor adds it.
func (c *consumer) cancelHeld(key int) {
	if was, ok := c.cancel(key); ok && was.Ready {
		c.violated.report("C39", key, "Cancel reported that key %d was ready, while a worker had it", key)
	}
}

// withdraw may cancel the add of a producer to a claimed key that runs once,
// and reports whether it did. Then the key is unused again.
func (p *producer) withdraw(key int) bool {
	if !p.has(Cancels) || !p.chance(8) {
		return false
	}
	was, ok := p.cancel(key)
	if !ok || !was.Any() {
		return false
	}
	if was.Dirty {
		p.violated.report("C39", key, "Cancel reported that key %d was dirty, and it was added once", key)
	}
	p.ledger.keys[key].use.Store(unused)
	return true
}
