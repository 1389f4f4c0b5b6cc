package worker

import (
	"slices"
	"time"

	"github.com/shardq/shardq/internal/foreach"
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

// note ends the claims of a handler that Run has abandoned. Without them, what
// it has returned changes nothing.
func (w *worker[T]) note(begins bool) {
	w.pool.mu.Lock()
	_, mine := w.pool.handling[w]
	if delete(w.pool.handling, w); begins {
		w.pool.handling[w] = time.Now()
		w.pool.reportLeftLocked()
	}
	w.pool.mu.Unlock()
	if !begins && !mine {
		w.endAbandoned(w.claim[:])
		w.endAbandoned(w.batch.claims)
	}
}

// endAbandoned ends the processing of items that Run's error has named. After a
// drain, the error alone has them: a value that went back would be in two places.
func (w *worker[T]) endAbandoned(claims []Claim[T]) {
	if w.pool.options.Drain == nil {
		w.releaseAll(claims)
		return
	}
	defer clear(claims)
	foreach.Do(len(claims), func(i int) { _ = claims[i].Done() })
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
				p.abandoned = append(p.abandoned, abandoned[T]{claim, time.Since(began)})
			}
		}
	}
	clear(p.handling)
}

// An abandoned item is one whose handler still runs.
type abandoned[T any] struct {
	claim Claim[T]
	took  time.Duration
}

func (p *Pool[T]) abandonedItems() (left []Failure[T]) {
	p.mu.Lock()
	all := p.abandoned
	p.mu.Unlock()
	for _, a := range all { // asks the owners, without the lock
		attempt := Attempt[T]{Claim: a.claim}
		left = append(left, Failure[T]{
			Queue: p.name, Item: a.claim.Item, Err: errAbandoned, Reason: ReasonAbandoned, Duration: a.took,
			Attempt: attempt.Number(), FirstFailure: attempt.FirstFailure(),
		})
	}
	return left
}
