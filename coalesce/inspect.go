package coalesce

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Name returns the name of the queue of keys.
func (c *Coalescer[K, V]) Name() string { return c.queue.Name() }

// NumRequeues is [shardq.Queue.NumRequeues] of the entry's key.
func (c *Coalescer[K, V]) NumRequeues(e Entry[K, V]) int { return c.queue.NumRequeues(e.Key) }

// Forget is [shardq.Queue.Forget] of the entry's key.
func (c *Coalescer[K, V]) Forget(e Entry[K, V]) { c.queue.Forget(e.Key) }

// Pause is [shardq.Queue.Pause]: the coalescer goes on accepting values.
func (c *Coalescer[K, V]) Pause() { c.queue.Pause() }

// Resume is [shardq.Queue.Resume].
func (c *Coalescer[K, V]) Resume() { c.queue.Resume() }

// SetRate is [shardq.Queue.SetRate]. It counts keys.
func (c *Coalescer[K, V]) SetRate(r shardq.Rate) { c.queue.SetRate(r) }

// PauseGroup is [shardq.Queue.PauseGroup] for a group of keys.
func (c *Coalescer[K, V]) PauseGroup(group string, until time.Time) { c.queue.PauseGroup(group, until) }

// ResumeGroup is [shardq.Queue.ResumeGroup].
func (c *Coalescer[K, V]) ResumeGroup(group string) { c.queue.ResumeGroup(group) }

// RefreshGroup is [shardq.Queue.RefreshGroup].
func (c *Coalescer[K, V]) RefreshGroup(group string) { c.queue.RefreshGroup(group) }

// Groups is [shardq.Queue.Groups] of the keys.
func (c *Coalescer[K, V]) Groups() iter.Seq[stats.Group] { return c.queue.Groups() }

// Inspect describes the queue of keys, for pages and exporters. It makes a
// Coalescer a [shardq.Inspector]. RetryNow of the result's Operator ends the
// delay of a key. Cancel drops the pending value by [Coalescer.Cancel], and
// reports the states that the key had when the call began.
func (c *Coalescer[K, V]) Inspect() stats.Inspection {
	return inspection[K, V]{c.queue.Inspect(), c}
}

type inspection[K comparable, V any] struct {
	stats.Inspection
	coalescer *Coalescer[K, V]
}

func (i inspection[K, V]) Operator() stats.Operator {
	return operator[K, V]{i.Inspection.Operator(), i.coalescer}
}

func (i inspection[K, V]) NextOf(source any) func(*worker.Claim[Entry[K, V]]) (bool, error) {
	if source != any(i.coalescer) {
		return nil
	}
	return i.coalescer.doneAndNext
}

func (i inspection[K, V]) Holds(e Entry[K, V]) bool {
	return i.Inspection.(interface{ Holds(key K) bool }).Holds(e.Key)
}

func (i inspection[K, V]) Failing() *atomic.Bool {
	return i.Inspection.(interface{ Failing() *atomic.Bool }).Failing()
}

func (i inspection[K, V]) KeepWaits()              { i.coalescer.shards.Core.KeepWaits() }
func (i inspection[K, V]) Ending() context.Context { return i.coalescer.shards.Core.Ending() }

func (i inspection[K, V]) HandlerContext(ctx context.Context) context.Context {
	return i.coalescer.shards.Core.HandlerContext(ctx)
}

func (i inspection[K, V]) OpenSlot() (number int, show func([]Entry[K, V]), closeSlot func()) {
	number, showKeys, closeSlot := i.Inspection.(worker.Slots[K]).OpenSlot()
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

// An operator is that of the keys. Its RetryNow changes no line.
type operator[K comparable, V any] struct {
	stats.Operator
	coalescer *Coalescer[K, V]
}

func (o operator[K, V]) Cancel(item any) (was shardq.Canceled) {
	key, ok := engine.ItemOf[K](item)
	if !ok {
		return was
	}
	was = o.coalescer.whereabouts(key) // before the queue forgets the key
	if _, ok := o.coalescer.Cancel(key); !ok {
		return shardq.Canceled{}
	}
	return was
}

// whereabouts returns what a Cancel of the key takes back. If the queue does not
// have the key for the value yet, it counts as ready, and if a Take has the key
// and not the value, as dirty.
func (c *Coalescer[K, V]) whereabouts(key K) (where shardq.Canceled) {
	_, info, held := c.shards.Lookup(key)
	where.Delayed = !info.Deadline.IsZero()
	switch {
	case !held || info.State == stats.Ready:
		where.Ready = true
	case info.State == stats.Processing:
		where.Dirty = info.Dirty || !where.Delayed
	}
	return where
}

// Keys are a read-only view of a Coalescer's queue of keys: see [Coalescer.Queue]. The
// methods are those of [shardq.Queue], but Inspect offers no Operator.
type Keys[K comparable] struct{ queue *shardq.Queue[K] }

// Queue returns a read-only view of the queue of keys. Its Len counts the keys
// that are ready.
func (c *Coalescer[K, V]) Queue() Keys[K] { return Keys[K]{c.queue} }

func (k Keys[K]) Name() string                                  { return k.queue.Name() }
func (k Keys[K]) Len() int                                      { return k.queue.Len() }
func (k Keys[K]) Stats() shardq.Stats                           { return k.queue.Stats() }
func (k Keys[K]) Groups() iter.Seq[stats.Group]                 { return k.queue.Groups() }
func (k Keys[K]) Snapshot(limit int) shardq.Snapshot[K]         { return k.queue.Snapshot(limit) }
func (k Keys[K]) All(state stats.State) iter.Seq[stats.Item[K]] { return k.queue.All(state) }
func (k Keys[K]) Lookup(key K) (stats.Item[K], bool)            { return k.queue.Lookup(key) }
func (k Keys[K]) NumRequeues(key K) int                         { return k.queue.NumRequeues(key) }
func (k Keys[K]) Inspect() stats.Inspection                     { return readOnly{k.queue.Inspect()} }
func (k Keys[K]) RecentFailures(limit int) (failed, discarded []stats.Failure[K]) {
	return k.queue.RecentFailures(limit)
}

type readOnly struct{ stats.Inspection }

func (readOnly) Operator() stats.Operator { return nil }
