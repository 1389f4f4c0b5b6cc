package shardqtest

import (
	"context"
	"time"

	"github.com/shardq/shardq/worker"
)

// A record is what happens in one call of the handler. The worker's goroutine
// writes it, and the next one if the handler ends that. The call of the Driver
// reads it when the worker has left.
type record[T any] struct {
	// key returns what identifies an item in a batch.
	key      func(item T) any
	now      time.Time
	attempts []Attempt[T]
	places   map[any]int // of the attempts, by their keys
}

func (r *record[T]) begin(now time.Time) {
	r.now, r.attempts, r.places = now, nil, map[any]int{}
}

// take notes what was claimed.
func (r *record[T]) take(claims []worker.Claim[T]) {
	for _, claim := range claims {
		r.places[r.key(claim.Item)] = len(r.attempts)
		r.attempts = append(r.attempts, Attempt[T]{
			Item: claim.Item, Number: claim.Failures() + 1, Priority: claim.Priority, Time: r.now,
		})
	}
}

// end returns the attempts. Due returns when an item's delay expires.
func (r *record[T]) end(now time.Time, due func(T) time.Time) []Attempt[T] {
	for i := range r.attempts {
		a := &r.attempts[i]
		if at := due(a.Item); !at.IsZero() && (a.Outcome == Failed || a.Outcome == Requeued) {
			a.After = at.Sub(now)
		}
	}
	return r.attempts
}

// wrap makes the handler and the hooks write the record.
func (r *record[T]) wrap(o *worker.Options[T]) {
	switch {
	case len(o.Use) > 0: // middleware may change the error
		o.Use = append([]worker.Middleware[T]{r.handler}, o.Use...)
	case o.Handle != nil:
		o.Handle = r.handler(o.Handle)
	}
	if handle := o.HandleBatch; handle != nil {
		o.HandleBatch = func(ctx context.Context, items []T) []error {
			errs := handle(ctx, items)
			for i := range min(len(errs), len(r.attempts)) { // the handler may have changed items
				r.returned(r.attempts[i].Item, errs[i])
			}
			return errs
		}
	}
	onError, onDiscard := o.OnError, o.OnDiscard
	o.OnError = func(ctx context.Context, f worker.Failure[T]) {
		r.failed(f, Failed)
		if onError != nil {
			onError(ctx, f)
		}
	}
	o.OnDiscard = func(ctx context.Context, f worker.Failure[T]) {
		r.failed(f, Discarded)
		if onDiscard != nil {
			onDiscard(ctx, f)
		}
	}
}

// handler returns a handler that calls next and notes the error.
func (r *record[T]) handler(next worker.Handler[T]) worker.Handler[T] {
	return func(ctx context.Context, item T) error {
		err := next(ctx, item)
		r.returned(item, err)
		return err
	}
}

// returned notes the error of the handler, as it is if no hook is called later.
func (r *record[T]) returned(item T, err error) {
	if _, requeued := worker.RequeueDelay(err); requeued {
		r.set(item, err, Requeued)
	} else if err != nil {
		r.set(item, err, Interrupted)
	}
}

// failed notes the failure that a hook gets.
func (r *record[T]) failed(f worker.Failure[T], outcome Outcome) { r.set(f.Item, f.Err, outcome) }

func (r *record[T]) set(item T, err error, outcome Outcome) {
	if place, known := r.places[r.key(item)]; known {
		r.attempts[place].Err, r.attempts[place].Outcome = err, outcome
	}
}
