package coalesce

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// Controls are a view of a Coalescer's keys that can also change them, for a
// page with actions. They are a [shardq.Inspector]. All Controls of one
// Coalescer are equal, so that == and the keys of a map recognize them.
type Controls[K comparable, V any] struct {
	shardq.View[K]
	coalescer *Coalescer[K, V]
}

// Controls returns what [Coalescer.Queue] returns, with methods that pause
// keys, end their delays and drop their values.
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
// whose value a worker has goes on. RetryNow ends the delay of a key: a
// backoff, the delay of a PutWith, or a linger. Cancel takes the pending value
// back by [Coalescer.Cancel], drops it, and reports how the queue had the key.
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

// Pause stops the coalescer from handing out values, as [shardq.Queue.Pause]
// does. It goes on accepting values.
func (c *Coalescer[K, V]) Pause() { c.queue.Pause() }

// Resume ends a Pause: see [shardq.Queue.Resume].
func (c *Coalescer[K, V]) Resume() { c.queue.Resume() }

// SetRate changes the rate at which keys are handed out: see
// [shardq.Queue.SetRate].
func (c *Coalescer[K, V]) SetRate(r shardq.Rate) { c.queue.SetRate(r) }

// PauseGroup stops the values of a group of keys from being handed out: see
// [shardq.Queue.PauseGroup].
func (c *Coalescer[K, V]) PauseGroup(group string, until time.Time) { c.queue.PauseGroup(group, until) }

// ResumeGroup ends the pause of a group: see [shardq.Queue.ResumeGroup].
func (c *Coalescer[K, V]) ResumeGroup(group string) { c.queue.ResumeGroup(group) }

// RefreshGroup asks again for the weight, the limit and the rate of a group:
// see [shardq.Queue.RefreshGroup].
func (c *Coalescer[K, V]) RefreshGroup(group string) { c.queue.RefreshGroup(group) }
