package shardqtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shardq/shardq/worker"
)

// An Attempt is one call of the handler by a [Driver], and what followed.
type Attempt[T any] struct {
	Item     T
	Number   int       // of the attempt, from 1, as the limiter counts them
	Priority int       // with which the item was ready
	Time     time.Time // when the handler was called, on the queue's clock
	Outcome  Outcome
	Err      error         // of the handler, of a panic or Goexit, or what the last hook received
	After    time.Duration // until the item is ready again, if Failed or Requeued
}

// An Outcome is what followed an attempt.
type Outcome uint8

const (
	Succeeded   Outcome = iota // The handler returned nil.
	Failed                     // The attempt failed, and the item runs again.
	Requeued                   // The handler returned a [worker.RequeueAfter].
	Discarded                  // The item did not succeed, and does not run again.
	Interrupted                // See [worker.Options].CancelIfAddedAgain.
)

var outcomes = [...]string{"succeeded", "failed", "requeued", "discarded", "interrupted"}

// String returns the outcome in lower case.
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// String writes the attempt in one line, without the stack of a panic.
func (a Attempt[T]) String() string {
	text := fmt.Sprintf("%s: attempt %d: %v", written(a.Item), a.Number, a.Outcome)
	if a.Outcome == Failed || a.Outcome == Discarded {
		if panicked, is := a.Err.(*worker.PanicError); is {
			text += fmt.Sprintf(": panic: %v", panicked.Value)
		} else {
			text += fmt.Sprintf(": %v", a.Err)
		}
	}
	if a.Outcome == Failed || a.Outcome == Requeued {
		text += fmt.Sprintf(": again in %v", a.After)
	}
	return text
}

// A record is what happens in one call of the handler. The worker writes it, and
// the Driver reads it when the worker has left.
type record[T any] struct {
	key      func(item T) any       // what identifies an item in a batch
	due      func(item T) time.Time // of the item's delay, or zero
	now      time.Time
	attempts []Attempt[T]
	places   map[any]int // of the attempts, by their keys
}

func (r *record[T]) begin(now time.Time) {
	r.now, r.attempts, r.places = now, nil, map[any]int{}
}

func (r *record[T]) take(claims []worker.Claim[T]) {
	for _, claim := range claims {
		r.places[r.key(claim.Item)] = len(r.attempts)
		r.attempts = append(r.attempts, Attempt[T]{
			Item: claim.Item, Number: claim.Failures() + 1, Priority: claim.Priority, Time: r.now,
		})
	}
}

func (r *record[T]) end(now time.Time) []Attempt[T] {
	for i := range r.attempts {
		a := &r.attempts[i]
		if at := r.due(a.Item); !at.IsZero() && (a.Outcome == Failed || a.Outcome == Requeued) {
			a.After = at.Sub(now)
		}
	}
	return r.attempts
}

func (r *record[T]) wrap(o *worker.Options[T]) {
	switch {
	case len(o.Use) > 0: // middleware may change the error
		o.Use = append([]worker.Middleware[T]{r.handler}, o.Use...)
	case o.Handle != nil:
		o.Handle = r.handler(o.Handle)
	}
	if handle := o.HandleBatch; handle != nil {
		o.HandleBatch = func(ctx context.Context, items []T) []error {
			its := slices.Clone(items) // the handler may change items
			errs := handle(ctx, items)
			for i := range min(len(errs), len(its)) {
				r.returned(its[i], errs[i])
			}
			return errs
		}
	}
	o.OnError, o.OnDiscard = r.hook(o.OnError, Failed), r.hook(o.OnDiscard, Discarded)
	o.OnLeftover = r.hook(o.OnLeftover, Discarded)
}

type hook[T any] = func(context.Context, worker.Failure[T])

func (r *record[T]) hook(next hook[T], outcome Outcome) hook[T] {
	return func(ctx context.Context, f worker.Failure[T]) {
		r.set(f.Item, f.Err, outcome)
		if next != nil {
			next(ctx, f)
		}
	}
}

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

func (r *record[T]) set(item T, err error, outcome Outcome) {
	if place, known := r.places[r.key(item)]; known {
		r.attempts[place].Err, r.attempts[place].Outcome = err, outcome
	}
}
