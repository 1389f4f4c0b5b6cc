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
	crew  *crew // nil of the zero Attempt
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
func (a Attempt[T]) Queue() string { return a.crew.nameFor(a.Claim.owner) }

// Group returns the item's group, or "".
func (a Attempt[T]) Group() string { return groupOf(a.Claim.owner, a.Claim.token) }

func groupOf(owner any, token Token) string {
	if describer, is := owner.(Describer); is {
		return describer.ClaimGroup(token)
	}
	return ""
}

// Waited returns how long the item was ready before it was claimed. It returns
// false if that is unknown, as in a queue without Ages and Metrics.
func (a Attempt[T]) Waited() (waited time.Duration, ok bool) {
	return waitOf(a.Claim.owner, a.Claim.token)
}

func waitOf(owner any, token Token) (waited time.Duration, ok bool) {
	if describer, is := owner.(Describer); is {
		return describer.ClaimWaited(token)
	}
	return 0, false
}

// A Describer is an [Owner] that knows the group of an item, and how long it
// waited, for the methods of [Attempt].
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
// the pool has neither [Options].Attempts nor Use, or has items of another type.
func AttemptOf[T any](ctx context.Context) (a Attempt[T], ok bool) {
	if found, is := ctx.Value(attemptKey[T]{}).(*Attempt[T]); is {
		return *found, true
	}
	return a, false
}

// An attemptContext is not reused, because a handler may keep its context. It has
// no type parameter, because each of its methods would be compiled four times.
type attemptContext struct {
	context.Context
	attempt any // a pointer to an Attempt
}

type attemptKey[T any] struct{}

func (attemptKey[T]) isOf(attempt any) bool {
	_, is := attempt.(*Attempt[T])
	return is
}

// Value must not return an attempt of another type: ctx may be one of several
// that a handler's middleware has joined.
func (c *attemptContext) Value(key any) any {
	if k, is := key.(interface{ isOf(attempt any) bool }); is && k.isOf(c.attempt) {
		return c.attempt
	}
	return c.Context.Value(key)
}

// An attemptMemory has an attempt and its context in one allocation.
type attemptMemory[T any] struct {
	_       [0]func() // not compared
	context attemptContext
	attempt Attempt[T]
}

func (w *worker[T]) handle(item T) error {
	if w.pool.plain {
		return w.pool.handle(w.seat.labeled, item)
	}
	ctx := w.seat.labeled
	if w.seat.crew.limits.showsAttempts() {
		a := &attemptMemory[T]{attempt: Attempt[T]{w.claim[0], w.seat.crew}}
		a.context = attemptContext{ctx, &a.attempt}
		ctx = &a.context
	}
	return w.seat.watched(ctx, w.claim[0].owner, w.claim[0].token,
		func(ctx context.Context) error { return w.pool.handle(ctx, item) })
}

// inTime calls do with a context that ends after Options.Timeout.
func (s *seat) inTime(ctx context.Context, do func(context.Context) (failed bool)) {
	if s.crew.limits.Timeout == 0 {
		do(ctx)
		return
	}
	ctx, release := context.WithTimeoutCause(ctx, s.crew.limits.Timeout, s.crew.over)
	defer release()
	failed := do(ctx)
	s.late = failed && context.Cause(ctx) == error(s.crew.over)
}

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
	// and with [ErrItemCanceled] when it is canceled. If either has happened
	// since the claim began, it calls tell at once. It stops when stop is
	// called or the claim ends. It calls tell with no lock held.
	WatchClaim(token Token, tell func(cause error)) (stop func())
}

// AddedAgain reports whether the item was added since the claim began, so that
// it runs once more. It is false if the claim has ended.
func (c Claim[T]) AddedAgain() bool {
	added, _ := changesOf(c.owner, c.token)
	return added
}

// Canceled reports whether the queue's Cancel was called for the item since the
// claim began. It is false if the claim has ended.
func (c Claim[T]) Canceled() bool {
	_, canceled := changesOf(c.owner, c.token)
	return canceled
}

func changesOf(owner any, token Token) (addedAgain, canceled bool) {
	if watcher, is := owner.(Watcher); is {
		return watcher.ClaimChanges(token)
	}
	return false, false
}

// watched returns an interruption if the handler ended because its context
// ended with a change of the item.
func (s *seat) watched(ctx context.Context, owner any, token Token, handle func(context.Context) error) (err error) {
	do := func(ctx context.Context) (failed bool) {
		err = handle(ctx)
		return err != nil
	}
	watcher, is := owner.(Watcher)
	if !is || !s.crew.limits.watches() {
		s.inTime(ctx, do)
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer watcher.WatchClaim(token, func(cause error) {
		if s.crew.limits.cancels(cause) {
			cancel(cause)
		}
	})()
	s.inTime(ctx, do)
	if cause := context.Cause(ctx); s.crew.limits.cancels(cause) && isEndOf(ctx, err) {
		return interruption{cause}
	}
	return err
}

type interruption struct{ error }

// poolKey is the key of the context that the handlers of a pool share.
type poolKey struct{}

// Interrupted returns why an attempt that returned err was interrupted: because
// of its item, with [Options].CancelIfAddedAgain, or because all workers must
// leave. It returns nil for any other attempt. ctx is the handler's context.
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
