package coalesce

import (
	"time"

	"github.com/shardq/shardq/worker"
)

// These are methods that a worker.Pool looks for in its source.

// Name returns the name of the queue of keys.
func (c *Coalescer[K, V]) Name() string { return c.queue.Name() }

// NumRequeues returns how often the key of an entry was requeued since it was
// last forgotten, according to the limiter. A [worker.Pool] calls it.
func (c *Coalescer[K, V]) NumRequeues(e Entry[K, V]) int { return c.queue.NumRequeues(e.Key) }

// Forget makes the limiter forget the failures of the entry's key. A
// [worker.Pool] calls it.
func (c *Coalescer[K, V]) Forget(e Entry[K, V]) { c.queue.Forget(e.Key) }

// OpenSlot is [shardq.Queue.OpenSlot]. The slot shows the keys of the entries.
func (c *Coalescer[K, V]) OpenSlot() (number int, show func([]Entry[K, V]), closeSlot func()) {
	number, showKeys, closeSlot := c.queue.OpenSlot()
	if showKeys == nil {
		return number, nil, closeSlot
	}
	var keys []K // reused, because only the worker calls show
	return number, func(entries []Entry[K, V]) {
		for i := range entries {
			keys = append(keys, entries[i].Key)
		}
		showKeys(keys)
		clear(keys)
		keys = keys[:0]
	}, closeSlot
}

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

// CountsAttempts implements [worker.AttemptReporter].
func (o *owner[K, V]) CountsAttempts() bool { return o.counter().CountsAttempts() }

// ReportAttempt implements [worker.AttemptReporter]: the queue of keys counts
// the attempt.
func (o *owner[K, V]) ReportAttempt(r worker.Report[Entry[K, V]]) {
	o.counter().ReportAttempt(worker.Report[K]{
		Item: r.Item.Key, Result: r.Result, Duration: r.Duration, Worker: r.Worker,
	})
}

// counter returns the queue's counter of attempts.
func (o *owner[K, V]) counter() worker.AttemptReporter[K] {
	return o.engine.Owner().(worker.AttemptReporter[K])
}
