package coalesce

import (
	"time"

	"github.com/shardq/shardq/worker"
)

// What a running handler can learn about its key. The queue of keys
// knows it.

// keyOwner is what the owner of the queue's claims knows.
type keyOwner interface {
	worker.Describer
	worker.Watcher
}

func (o *owner[K, V]) keyOwner() keyOwner { return o.engine.Owner().(keyOwner) }

// KeepWaits is [shardq.Queue.KeepWaits]. A [worker.Pool] calls it.
func (c *Coalescer[K, V]) KeepWaits() { c.queue.KeepWaits() }

// ClaimGroup implements [worker.Describer].
func (o *owner[K, V]) ClaimGroup(token worker.Token) string { return o.keyOwner().ClaimGroup(token) }

// ClaimWaited implements [worker.Describer].
func (o *owner[K, V]) ClaimWaited(token worker.Token) time.Duration {
	return o.keyOwner().ClaimWaited(token)
}

// ClaimChanges implements [worker.Watcher]. A value that was put since is an
// add. A Cancel takes back what is pending, not what a worker has: ended as
// canceled, that value would be lost.
func (o *owner[K, V]) ClaimChanges(token worker.Token) (addedAgain, canceled bool) {
	addedAgain, _ = o.keyOwner().ClaimChanges(token)
	return addedAgain, false
}

// WatchClaim implements [worker.Watcher].
func (o *owner[K, V]) WatchClaim(token worker.Token, tell func(cause error)) (stop func()) {
	return o.keyOwner().WatchClaim(token, func(cause error) {
		if cause != worker.ErrItemCanceled {
			tell(cause)
		}
	})
}
