package shardq

import (
	"time"

	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/worker"
)

// What a running handler can learn about its item.

// KeepWaits makes the queue remember how long each item in processing was
// ready, for [worker.Attempt.Waited], if [Options].Ages is set. A [worker.Pool]
// calls it.
func (q *Queue[T]) KeepWaits() { q.shards.KeepWaits() }

// ClaimGroup implements [worker.Describer].
func (o *queueClaims[T]) ClaimGroup(token worker.Token) string {
	return o.shards.GroupAt(o.queue().handle(token))
}

// ClaimWaited implements [worker.Describer].
func (o *queueClaims[T]) ClaimWaited(token worker.Token) time.Duration {
	return o.shards.Waited(o.queue().handle(token))
}

// ClaimChanges implements [worker.Watcher].
func (o *queueClaims[T]) ClaimChanges(token worker.Token) (addedAgain, canceled bool) {
	return o.shards.Changed(o.queue().handle(token))
}

// WatchClaim implements [worker.Watcher].
func (o *queueClaims[T]) WatchClaim(token worker.Token, tell func(cause error)) (stop func()) {
	return o.shards.Watch(o.queue().handle(token), func(what shard.Change) {
		if what == shard.CanceledInFlight {
			tell(worker.ErrItemCanceled)
		} else {
			tell(worker.ErrAddedAgain)
		}
	})
}
