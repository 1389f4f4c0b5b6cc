package coalesce

import (
	"time"

	"github.com/shardq/shardq/worker"
)

// What a running handler can learn about its key. The queue of keys
// knows it.

// ClaimGroup implements [worker.Describer].
func (o *owner[K, V]) ClaimGroup(token worker.Token) string { return o.engine.Owner.ClaimGroup(token) }

// ClaimWaited implements [worker.Describer].
func (o *owner[K, V]) ClaimWaited(token worker.Token) time.Duration {
	return o.engine.Owner.ClaimWaited(token)
}

// ClaimChanges implements [worker.Watcher]. A value that was put since is an
// add. A Cancel takes back what is pending, not what a worker has: ended as
// canceled, that value would be lost.
func (o *owner[K, V]) ClaimChanges(token worker.Token) (addedAgain, canceled bool) {
	addedAgain, _ = o.engine.Owner.ClaimChanges(token)
	return addedAgain, false
}

// WatchClaim implements [worker.Watcher].
func (o *owner[K, V]) WatchClaim(token worker.Token, tell func(cause error)) (stop func()) {
	return o.engine.Owner.WatchClaim(token, func(cause error) {
		if cause != worker.ErrItemCanceled {
			tell(cause)
		}
	})
}
