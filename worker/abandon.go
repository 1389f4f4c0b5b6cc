package worker

import (
	"slices"
	"time"
)

// noting returns a show that also notes when a handler begins and has ended.
func (w *worker[T]) noting(show func(items []T)) func(items []T) {
	return func(items []T) {
		defer w.note(len(items) > 0) // also if show panics
		if show != nil {
			show(items)
		}
	}
}

// note releases the claims of a handler that Run has abandoned. Without them,
// what it has returned changes nothing.
func (w *worker[T]) note(begins bool) {
	w.mu.Lock()
	_, mine := w.handling[w]
	if delete(w.handling, w); begins {
		w.handling[w] = time.Now()
		w.reportLeftLocked()
	}
	w.mu.Unlock()
	if !begins && !mine {
		w.releaseAll(w.claim[:])
		w.releaseAll(w.batch.claims)
	}
}

// abandon makes Run wait no longer for handlers. It still waits for workers
// between a handler and the end of the claim: no hook is called after Run.
func (p *Pool[T]) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.overdue = true
	p.reportLeftLocked()
}

// abandonLocked reads the claims of workers that change them only after a note.
func (p *Pool[T]) abandonLocked() {
	for w, began := range p.handling {
		for _, claim := range slices.Concat(w.claim[:], w.batch.claims) {
			if claim.owner != nil {
				p.leftover = append(p.leftover, Failure[T]{
					Queue: p.name, Item: claim.Item, Err: errAbandoned, Reason: ReasonAbandoned, Duration: time.Since(began),
				})
			}
		}
	}
	clear(p.handling)
}
