package shardq

import (
	"context"
	"time"

	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A program instantiates [Queue] for its own key type, in a package that
// imports shardq and not shard. There the compiler can inline the small
// functions of shard only if shardq exports their bodies, and it exports the
// bodies that it has inlined itself (exportBody in
// cmd/compile/internal/noder/linker.go). This line makes it do so. The linker
// leaves the line out. See decision 24 in docs/internals.
var _ = []any{(*Queue[uint64])(nil), func(l *itemlimit.Limiter) { l.Notify() }}

// An Engine gives access to the shards below a [Queue], for packages that build
// another kind of queue on it, as package coalesce does. A program that only
// uses queues does not need it. What it returns may change in a minor version.
//
// Its methods are safe for concurrent use.
type Engine[T comparable] struct{ queue *Queue[T] }

// Engine returns access to the shards of the queue.
func (q *Queue[T]) Engine() Engine[T] { return Engine[T]{q} }

// Shards returns the shards.
func (e Engine[T]) Shards() *shard.Set[T] { return e.queue.shards }

// Owner returns the owner of the queue's claims. It is a [worker.Reporter] and
// a [worker.AttemptReporter] as well.
func (e Engine[T]) Owner() worker.Owner[T] { return e.queue.claims() }

// Token returns the token of the claim to the processing that h names.
func (e Engine[T]) Token(h shard.Handle) worker.Token { return e.queue.token(h) }

// Handle returns the handle of a token, or the zero Handle if the queue has not
// made the token.
func (e Engine[T]) Handle(token worker.Token) shard.Handle { return e.queue.handle(token) }

// ReturnDelay returns the delay with which an item becomes ready again. It
// calls the limiter.
func (e Engine[T]) ReturnDelay(item T, how worker.Return) time.Duration {
	return e.queue.returnDelay(item, how)
}

// AddWith is [Queue.AddWith]. It returns [ErrNotAgain] if a window refuses the
// add. An add without a window returns nil, also after a shutdown.
func (e Engine[T]) AddWith(item T, options AddOptions) error {
	delay, ok := e.queue.delayOf(item, options)
	switch {
	case !ok:
		return ErrRejected
	case delay.Window > 0:
		return e.queue.shards.AddInWindow(item, delay)
	}
	e.queue.shards.AddWith(item, delay)
	return nil
}

// OnStats lets values fill in [Stats].Values. It must be called before the
// queue is used.
func (e Engine[T]) OnStats(values func() *stats.Values) { e.queue.values = values }

// Drain is [Queue.Drain] that a receive from released ends as well. It calls
// finish with the error of the wait, and returns what that returns.
func (e Engine[T]) Drain(ctx context.Context, options DrainOptions, released <-chan struct{},
	finish func(ctx context.Context, cause error) error) (dropped []T, err error) {
	return e.queue.drainUntil(ctx, options, released, finish)
}

// TimedOut logs that a drain ended early, and returns an error that lists what
// is left.
func (e Engine[T]) TimedOut(ctx context.Context, cause error) *DrainError[T] {
	return e.queue.drainEndedEarly(ctx, cause)
}

// LogShutDown logs the end of the queue, once.
func (e Engine[T]) LogShutDown() { e.queue.logShutDown() }
