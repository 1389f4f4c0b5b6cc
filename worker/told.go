package worker

import (
	"context"
	"errors"
)

// The causes of a context that ended because of its item.
var (
	// ErrAddedAgain is the cause if the item was added again: see
	// [Options].CancelIfAddedAgain.
	ErrAddedAgain = errors.New("worker: the item was added again")
	// ErrItemCanceled is the cause if the item was canceled: see
	// [Options].CancelIfCanceled.
	ErrItemCanceled = errors.New("worker: the item was canceled")
)

// A Watcher is an [Owner] that knows what happens to an item while it is being
// processed. A queue and a coalescer are Watchers.
type Watcher interface {
	// ClaimChanges reports whether the item was added since the claim began, so
	// that it will run again, and whether it was canceled since. Both are false
	// if the claim has ended.
	ClaimChanges(token Token) (addedAgain, canceled bool)

	// WatchClaim calls tell with [ErrAddedAgain] when the item is added again,
	// and with [ErrItemCanceled] when it is canceled, until stop is called, also
	// for what has happened since the claim began. It never calls tell for what
	// happens to a later claim. It holds no lock meanwhile.
	WatchClaim(token Token, tell func(cause error)) (stop func())
}

// AddedAgain reports whether the item was added since the claim began, so that
// it runs once more after the claim. A later Cancel makes the result false. It
// is false if the claim has ended, or its owner is no [Watcher].
func (c Claim[T]) AddedAgain() bool {
	added, _ := c.changes()
	return added
}

// Canceled reports whether the queue's Cancel was called for the item since the
// claim began. It is false if the claim has ended, or its owner is no
// [Watcher].
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

// handleWatched calls handle with a context that ends with the changes of the
// item. It returns an interruption if the handler ended because of that.
func (w *worker[T]) handleWatched(ctx context.Context, handle func(context.Context) error) error {
	claim := w.claim[0]
	watcher, is := claim.owner.(Watcher)
	if !is {
		return handle(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer watcher.WatchClaim(claim.token, func(cause error) {
		if w.options.cancels(cause) {
			cancel(cause)
		}
	})()
	err := handle(ctx)
	if cause := interruptedBy(ctx, err); cause != nil && w.options.cancels(cause) {
		return interruption{cause}
	}
	return err
}

// interruptedBy returns why a handler ended with an error of its context, if a
// change of its item is the reason, and nil otherwise.
func interruptedBy(ctx context.Context, err error) (cause error) {
	cause = context.Cause(ctx)
	if err != nil && (cause == ErrAddedAgain || cause == ErrItemCanceled) &&
		(errors.Is(err, context.Canceled) || errors.Is(err, cause)) {
		return cause
	}
	return nil
}

// An interruption is the outcome of a handler that ended because its context
// did, with one of the causes above. It is neither a success nor a failure.
type interruption struct{ error }

// interrupted ends the claim of an interrupted item, which runs again with its
// failures unchanged. A canceled item does not, unless it was added after that.
func (p *Pool[T]) interrupted(a *attempt[T]) {
	if a.claim.Canceled() {
		return // endAttempt calls Done
	}
	a.settled = true
	p.ended(a.claim.Release())
}
