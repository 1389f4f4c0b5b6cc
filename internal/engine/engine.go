// Package engine lets the other packages of this module reach what is below a
// queue, to build another kind of queue on it.
package engine

import (
	"context"
	"time"

	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A Queue is a shardq.Queue.
type Queue[T comparable] interface {
	Add(item T)
	Inspect() stats.Inspection
}

// An Engine is what is below a queue. Its functions are safe for concurrent
// use, except OnStats, which must be called before the queue is used.
type Engine[T comparable] struct {
	Shards *shard.Set[T]
	Tokens Tokens
	Owner  Owner[T] // of the queue's claims
	// ReturnDelay calls the limiter, and returns the delay after which the item
	// becomes ready again. h names the item's processing.
	ReturnDelay func(h shard.Handle, item T, how worker.Return) time.Duration
	OnStats     func(values func() *stats.Values) // lets values fill in the Values of Stats
	// Drain is Drain of the queue. A receive from released ends it as well. It
	// calls finish with the error of the wait, and returns the result of
	// finish.
	Drain func(ctx context.Context, how shard.Draining, released <-chan struct{},
		finish func(ctx context.Context, cause error) error) (dropped []T, err error)
	EndedEarly  func(ctx context.Context, cause error) error // logs it, and returns a shardq.DrainError
	LogShutDown func()                                       // logs the end of the queue, once
}

// An Owner is all that a queue does as the owner of its claims.
type Owner[T comparable] interface {
	worker.Owner[T]
	worker.Reporter[T]
	worker.AttemptReporter[T]
	worker.Describer
	worker.FailureTimer[T]
	worker.Watcher
	ReportSuccess(context.Context)
	// DoneAndTake is DoneClaim, and takes the next item as [shard.Set.EndTake]
	// does.
	DoneAndTake(item T, h shard.Handle) (next T, priority int, at shard.Handle, ok bool, err error)
}

// ItemOf asserts that an any is an item of type T. A nil item of an interface
// type is a nil any, for which a type assertion fails.
func ItemOf[T comparable](item any) (typed T, ok bool) {
	typed, ok = item.(T)
	return typed, ok || item == nil && any(typed) == nil
}

// Of returns the engine of a queue.
func Of[T comparable](q Queue[T]) Engine[T] {
	return q.Inspect().(interface{ Engine() Engine[T] }).Engine()
}

// Controller are the rules of controller-runtime's priority queue.
var Controller = shard.Rules{
	CancelDelayOnAdd: true, DropDelayIfReady: true, KeepPlaces: true,
	DiscardOnShutDown: true, PrioritiesBeforeTurns: true,
}

// ClientGo are the rules of client-go's queue where a queue's own differ.
var ClientGo = shard.Rules{DrainProcessingOnly: true}

// Follow makes a queue follow other rules than its own, and returns it. The
// queue must not be in use yet.
func Follow[Q Queue[T], T comparable](q Q, rules shard.Rules) Q {
	Of[T](q).Shards.Core.SetRules(rules)
	return q
}

// ClaimOf returns the claim to the processing that item is in, for a consumer
// that got the item by a Get. It returns false if item is not in processing.
// Call it before the Done that the consumer owes: later, the claim may be that
// of another consumer. Its priority is 0.
func ClaimOf[T comparable](q Queue[T], item T) (claim worker.Claim[T], ok bool) {
	e := Of(q)
	h := e.Shards.HandleOf(item)
	if ok = h != (shard.Handle{}); ok {
		claim.Reset(item, 0, e.Owner, e.Tokens.Of(h))
	}
	return claim, ok
}

// Tokens are the tokens of a queue's claims. First is less than all fences: see
// worker.Claim.Fence.
type Tokens struct {
	First  uint64
	Shards int
}

// Of returns the token of the claim to the processing that h names.
func (t Tokens) Of(h shard.Handle) worker.Token {
	return worker.Token{ID: h.Place(), Fence: t.First + h.Fence()}
}

// Handle returns the handle of a token, or the zero Handle if the queue has not
// made the token.
func (t Tokens) Handle(token worker.Token) shard.Handle {
	if token.ID>>32 >= uint64(t.Shards) {
		return shard.Handle{}
	}
	return shard.HandleAt(token.ID, token.Fence-t.First)
}
