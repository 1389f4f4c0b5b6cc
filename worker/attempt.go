package worker

import (
	"context"
	"errors"
	"time"
)

// An Attempt describes the item that a handler has: see [AttemptOf].
type Attempt[T any] struct {
	// Claim is the right to this processing. If the handler ends it, that end
	// decides about the item. Otherwise the pool ends it afterwards.
	Claim Claim[T]
	queue string
}

// Number returns the number of the attempt, from 1, as the owner counts failures,
// or 0 for the zero Attempt.
func (a Attempt[T]) Number() int {
	if a.Claim.owner == nil {
		return 0
	}
	return a.Claim.Failures() + 1
}

// Priority returns the priority with which the item was ready.
func (a Attempt[T]) Priority() int { return a.Claim.Priority }

// Queue returns the name of the queue, or of another source.
func (a Attempt[T]) Queue() string { return nameOf(a.Claim.owner, a.queue) }

// Group returns the item's group, or "".
func (a Attempt[T]) Group() string {
	if describer, is := a.Claim.owner.(Describer); is {
		return describer.ClaimGroup(a.Claim.token)
	}
	return ""
}

// Waited returns how long the item was ready before it was claimed. It returns
// false if that is unknown, as in a queue without Ages and Metrics.
func (a Attempt[T]) Waited() (waited time.Duration, ok bool) {
	if describer, is := a.Claim.owner.(Describer); is {
		return describer.ClaimWaited(a.Claim.token)
	}
	return 0, false
}

// A Describer is an [Owner] that knows more of an item. [Attempt] asks it.
type Describer interface {
	ClaimGroup(token Token) string // or ""
	ClaimWaited(token Token) (waited time.Duration, known bool)
}

// FirstFailure returns when the item first failed since its last success, as in
// a [Failure], or zero if it has not failed.
func (a Attempt[T]) FirstFailure() (first time.Time) {
	if timer, is := a.Claim.owner.(FailureTimer[T]); is && a.Number() > 1 {
		first, _ = timer.FailingSince(a.Claim.Item)
	}
	return first
}

// A FailureTimer is an [Owner] that keeps [Return].FirstFailure of each item
// until its failures are forgotten. FailingSince returns that time, or zero,
// and the present time.
type FailureTimer[T any] interface {
	FailingSince(item T) (first, now time.Time)
}

// AttemptOf returns the attempt that a handler's context belongs to, or false if
// the pool has neither [Options].Attempts nor Use, or items of another type.
func AttemptOf[T any](ctx context.Context) (a Attempt[T], ok bool) {
	if found, is := ctx.Value(attemptKey[T]{}).(*Attempt[T]); is {
		return *found, true
	}
	return a, false
}

type attemptKey[T any] struct{}

// An attemptContext is not reused, because a handler may keep its context.
type attemptContext[T any] struct {
	context.Context
	attempt Attempt[T]
}

func (c *attemptContext[T]) Value(key any) any {
	if _, is := key.(attemptKey[T]); is {
		return &c.attempt
	}
	return c.Context.Value(key)
}

func (w *worker[T]) handle(item T) error {
	if w.pool.plain {
		return w.pool.options.Handle(w.labeled, item)
	}
	ctx := w.labeled
	if w.pool.options.showsAttempts() {
		ctx = &attemptContext[T]{ctx, Attempt[T]{w.claim[0], w.pool.name}}
	}
	if w.pool.options.watches() {
		return w.handleWatched(ctx, func(ctx context.Context) error { return w.handleInTime(ctx, item) })
	}
	return w.handleInTime(ctx, item)
}

func (w *worker[T]) handleInTime(ctx context.Context, item T) error {
	if w.pool.options.Timeout == 0 {
		return w.pool.options.Handle(ctx, item)
	}
	ctx, release := context.WithTimeoutCause(ctx, w.pool.options.Timeout, w.pool.over)
	defer release()
	err := w.pool.options.Handle(ctx, item)
	w.late = err != nil && context.Cause(ctx) == error(w.pool.over)
	return err
}

func (o *Options[T]) showsAttempts() bool { return o.Attempts || len(o.Use) > 0 }

// The causes of a context that ended because of its item: see
// [Options].CancelIfAddedAgain.
var (
	ErrAddedAgain   = errors.New("worker: the item was added again")
	ErrItemCanceled = errors.New("worker: the item was canceled")
)

// A Watcher is an [Owner] that knows what happens to an item in processing.
type Watcher interface {
	// ClaimChanges reports whether the item was added since the claim began, and
	// whether it was canceled since. Both are false if the claim has ended.
	ClaimChanges(token Token) (addedAgain, canceled bool)

	// WatchClaim calls tell with [ErrAddedAgain] when the item is added again,
	// and with [ErrItemCanceled] when it is canceled, also if that has happened
	// since the claim began, until stop is called or the claim ends. It holds no
	// lock meanwhile.
	WatchClaim(token Token, tell func(cause error)) (stop func())
}

// AddedAgain reports whether the item was added since the claim began, so that
// it runs once more. It is false if the claim has ended.
func (c Claim[T]) AddedAgain() bool {
	added, _ := c.changes()
	return added
}

// Canceled reports whether the queue's Cancel was called for the item since the
// claim began. It is false if the claim has ended.
func (c Claim[T]) Canceled() bool {
	_, canceled := c.changes()
	return canceled
}

func (c Claim[T]) changes() (addedAgain, canceled bool) {
	if watcher, is := c.owner.(Watcher); is {
		return watcher.ClaimChanges(c.token)
	}
	return false, false
}

func (o *Options[T]) watches() bool { return o.CancelIfAddedAgain || o.CancelIfCanceled }

func (o *Options[T]) cancels(cause error) bool {
	return cause == ErrAddedAgain && o.CancelIfAddedAgain || cause == ErrItemCanceled && o.CancelIfCanceled
}

// handleWatched returns an interruption if the handler ended because its context
// ended with a change of the item.
func (w *worker[T]) handleWatched(ctx context.Context, handle func(context.Context) error) error {
	claim := w.claim[0]
	watcher, is := claim.owner.(Watcher)
	if !is {
		return handle(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer watcher.WatchClaim(claim.token, func(cause error) {
		if w.pool.options.cancels(cause) {
			cancel(cause)
		}
	})()
	err := handle(ctx)
	if cause := context.Cause(ctx); w.pool.options.cancels(cause) && isEndOf(ctx, err) {
		return interruption{cause}
	}
	return err
}

type interruption struct{ error }

// poolKey is the key of the context that the handlers of a pool share.
type poolKey struct{}

// Interrupted returns why an attempt that returned err was interrupted: because
// of its item, with [Options].CancelIfAddedAgain, or because all workers must
// leave. It returns nil for any other attempt. The context is the handler's.
func Interrupted(ctx context.Context, err error) (cause error) {
	if cause = context.Cause(ctx); (cause == ErrAddedAgain || cause == ErrItemCanceled) && isEndOf(ctx, err) {
		return cause
	}
	_, late := cause.(*timeIsOver)
	pool, is := ctx.Value(poolKey{}).(context.Context)
	if is && outcomeOf(pool, err, late).interrupted {
		return context.Cause(pool)
	}
	return nil
}

// interrupted makes the item run again with its failures unchanged, unless it was
// canceled and not added after that.
func (p *Pool[T]) interrupted(a *attempt[T]) {
	if _, changed := a.err.(interruption); !changed {
		p.runAgain(a, Return{Reason: ReturnRelease})
	} else if !a.claim.Canceled() { // otherwise endAttempt calls Done
		a.settled = true
		p.ended(a.claim.Release())
	}
}
