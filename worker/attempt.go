package worker

import (
	"context"
	"time"
)

// An Attempt is what a handler can ask about the item that it has: see
// [AttemptOf].
type Attempt[T any] struct {
	// Claim is the right to this processing. The pool ends it when the handler
	// has returned. If the handler ends it before, that end decides about the
	// item.
	Claim Claim[T]
	queue string
}

// Number returns the number of the attempt, from 1. Every attempt is the first
// if the owner counts no failures.
func (a Attempt[T]) Number() int { return a.Claim.Failures() + 1 }

// Priority returns the priority with which the item was ready.
func (a Attempt[T]) Priority() int { return a.Claim.Priority }

// Queue returns the name of the queue, or of another source.
func (a Attempt[T]) Queue() string { return nameOf(a.Claim.owner, a.queue) }

// Group returns the item's group. It is empty if the queue has no groups, or if
// the claim has ended.
func (a Attempt[T]) Group() string {
	if describer, is := a.Claim.owner.(Describer); is {
		return describer.ClaimGroup(a.Claim.token)
	}
	return ""
}

// Waited returns how long the item was ready before it was claimed. It is 0 if
// the queue keeps no ages, or if the claim has ended.
func (a Attempt[T]) Waited() time.Duration {
	if describer, is := a.Claim.owner.(Describer); is {
		return describer.ClaimWaited(a.Claim.token)
	}
	return 0
}

// A Describer is an [Owner] that knows more of an item. [Attempt] asks it.
type Describer interface {
	// ClaimGroup returns the item's group, or "" if there is none.
	ClaimGroup(token Token) string
	// ClaimWaited returns how long the item was ready before it was claimed, or
	// 0 if that is not known.
	ClaimWaited(token Token) time.Duration
}

// AttemptOf returns the attempt that a handler's context belongs to. T must be
// the type of the pool's items. It returns false for other contexts, and in a
// pool without [Options].Attempts or Use.
func AttemptOf[T any](ctx context.Context) (a Attempt[T], ok bool) {
	if found, is := ctx.Value(attemptKey[T]{}).(*Attempt[T]); is {
		return *found, true
	}
	return a, false
}

type attemptKey[T any] struct{}

// An attemptContext is a context with an attempt. It is one allocation. It is
// not reused, because a handler may keep its context.
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
	if w.plain {
		return w.options.Handle(w.labeled, item)
	}
	ctx := w.labeled
	if w.options.showsAttempts() {
		ctx = &attemptContext[T]{ctx, Attempt[T]{w.claim[0], w.name}}
	}
	if w.options.watches() {
		return w.handleWatched(ctx, func(ctx context.Context) error { return w.handleInTime(ctx, item) })
	}
	return w.handleInTime(ctx, item)
}

func (w *worker[T]) handleInTime(ctx context.Context, item T) error {
	if w.options.Timeout == 0 {
		return w.options.Handle(ctx, item)
	}
	ctx, release := context.WithTimeout(ctx, w.options.Timeout)
	defer release()
	return w.options.Handle(ctx, item)
}

func (o *Options[T]) showsAttempts() bool { return o.Attempts || len(o.Use) > 0 }

func (o *Options[T]) plain() bool { return o.Timeout == 0 && !o.showsAttempts() && !o.watches() }
