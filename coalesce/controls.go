package coalesce

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// Controls are a view of a Coalescer's keys that can also change them, for a
// page with actions: see [Coalescer.Controls]. They are a [shardq.Inspector].
//
// Controls cost nothing and may be copied. All Controls of one Coalescer are
// equal, so that == and the keys of a map recognize them. The methods of the
// zero Controls panic.
//
// All methods are safe for concurrent use.
type Controls[K comparable, V any] struct {
	shardq.View[K]
	coalescer *Coalescer[K, V]
}

// Controls returns what [Coalescer.Queue] returns, with methods that pause
// keys, end their delays and drop their values. It is for a page whose users
// may do that.
func (c *Coalescer[K, V]) Controls() Controls[K, V] { return Controls[K, V]{c.Queue(), c} }

// Pause is [Coalescer.Pause].
func (c Controls[K, V]) Pause() { c.coalescer.Pause() }

// Resume is [Coalescer.Resume].
func (c Controls[K, V]) Resume() { c.coalescer.Resume() }

// PauseGroup is [Coalescer.PauseGroup].
func (c Controls[K, V]) PauseGroup(group string, until time.Time) {
	c.coalescer.PauseGroup(group, until)
}

// ResumeGroup is [Coalescer.ResumeGroup].
func (c Controls[K, V]) ResumeGroup(group string) { c.coalescer.ResumeGroup(group) }

// Operator returns an Operator of single keys and their pending values. A key
// whose value a worker has goes on.
//
// RetryNow ends the delay of a key: a backoff, the delay of a PutWith, or a
// linger. The value stays pending. RetryNow does nothing after a
// [Coalescer.ShutDown]. In a [Coalescer.Drain] that awaits delayed keys, it
// works as before.
//
// Cancel takes the pending value of a key back by [Coalescer.Cancel], and drops
// it. It reports how the queue had the key when the call began: ready, delayed,
// or in processing and dirty. If it dropped a value, it reports one of these in
// any case. Otherwise it reports nothing.
//
// Neither blocks.
func (c Controls[K, V]) Operator() shardq.Operator { return operator[K, V]{c.coalescer} }

type operator[K comparable, V any] struct{ coalescer *Coalescer[K, V] }

// RetryNow implements [shardq.Operator]. It changes no line: to the coalescer,
// the delay has expired.
func (o operator[K, V]) RetryNow(item any) bool {
	return o.coalescer.queue.Operator().RetryNow(item)
}

// Cancel implements [shardq.Operator].
func (o operator[K, V]) Cancel(item any) (was shardq.Canceled) {
	key, ok := item.(K)
	if !ok {
		return was
	}
	was = o.coalescer.whereabouts(key) // before the queue forgets the key
	if _, ok := o.coalescer.Cancel(key); !ok {
		return shardq.Canceled{}
	}
	return was
}

// whereabouts returns what a Cancel of a pending value of the key takes back.
// The queue may not have the key for the value yet, or a Take may have the key
// and not the value. Then the key counts as ready, or as dirty.
func (c *Coalescer[K, V]) whereabouts(key K) (where shardq.Canceled) {
	info, held := c.shards.Lookup(key)
	where.Delayed = !info.Deadline.IsZero()
	switch {
	case !held || info.State == stats.Ready:
		where.Ready = true
	case info.State == stats.Processing:
		where.Dirty = info.Dirty || !where.Delayed
	}
	return where
}
