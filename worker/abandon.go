package worker

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// An AbandonedError is the error of a [Pool.Run] that did not wait for handlers
// that ignore the end of their contexts: see [Options].AbandonAfter.
type AbandonedError[T any] struct {
	Queue   string       // the name of the source
	Running []Running[T] // the longest first
}

// A Running is an item whose handler still runs.
type Running[T any] struct {
	Item T
	For  time.Duration // in real time
}

// Error returns their number. It names no items, which may be private.
func (e *AbandonedError[T]) Error() string {
	return fmt.Sprintf("worker: %sabandoned: %d items whose handlers run for up to %v",
		prefix(e.Queue), len(e.Running), e.Running[0].For.Round(time.Millisecond))
}

// A call is one of a handler, which has the items of the claims. Its worker does
// not change them meanwhile.
type call[T any] struct {
	claims []Claim[T]
	began  time.Time
}

// noting returns a show that notes which handlers run as well.
func (w *worker[T]) noting(show func(items []T)) func(items []T) {
	return func(items []T) {
		claims := w.claim[:]
		if w.options.HandleBatch != nil {
			claims = w.batch.claims
		}
		defer w.note(claims[:len(items)]) // also if show panics
		if show != nil {
			show(items)
		}
	}
}

// note notes that the handler begins, or without claims that it has ended. If
// Run has abandoned it, its claims are released, whatever it has returned.
func (w *worker[T]) note(claims []Claim[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(claims) > 0 {
		w.handling[w] = call[T]{claims, time.Now()}
		w.reportLeftLocked()
		return
	}
	_, mine := w.handling[w]
	delete(w.handling, w)
	w.gone = !mine
	w.reports = w.reports || w.gone
}

// abandon makes Run wait no longer for handlers. It still waits for workers
// between a handler and the end of the claim: no hook is called after Run.
func (p *Pool[T]) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.overdue = true
	p.reportLeftLocked()
}

func (p *Pool[T]) abandonLocked() {
	e := &AbandonedError[T]{Queue: p.name}
	for _, one := range p.handling {
		for i := range one.claims {
			e.Running = append(e.Running, Running[T]{one.claims[i].Item, time.Since(one.began)})
		}
	}
	slices.SortFunc(e.Running, func(a, b Running[T]) int { return cmp.Compare(b.For, a.For) })
	p.abandoned = e
	clear(p.handling)
}
