package coalesce

import (
	"iter"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Groups returns an iterator over the groups of keys: see
// [shardq.Queue.Groups].
func (c *Coalescer[K, V]) Groups() iter.Seq[stats.Group] { return c.queue.Groups() }

// Inspect returns what there is to know of the keys, for pages and exporters.
// It makes a Coalescer a [shardq.Inspector].
//
// RetryNow of its Operator ends the delay of a key: a backoff, the delay of a
// PutWith, or a linger. The value stays pending. Cancel drops the pending value
// by [Coalescer.Cancel], and reports how the queue had the key when the call
// began. If it dropped nothing, it reports nothing. A value that a worker has
// goes on.
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

// KeepWaits and OpenSlot are for workers: see [worker.Source].
func (i inspection[K, V]) KeepWaits() { i.coalescer.shards.KeepWaits() }

// OpenSlot opens a slot that shows the keys of the entries.
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

// An operator is that of the keys. RetryNow changes no line: to the coalescer,
// the delay has expired.
type operator[K comparable, V any] struct {
	stats.Operator
	coalescer *Coalescer[K, V]
}

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

// Keys are the queue of keys of a Coalescer, to read: see [Coalescer.Queue].
// They may be copied and compared. The methods are those of [shardq.Queue].
type Keys[K comparable] struct{ queue *shardq.Queue[K] }

// Queue returns the queue of keys, to read. Its Len counts the keys that are
// ready. As a [shardq.Inspector] it offers no actions, unlike the Coalescer.
func (c *Coalescer[K, V]) Queue() Keys[K] { return Keys[K]{c.queue} }

// Name is [shardq.Queue.Name].
func (k Keys[K]) Name() string { return k.queue.Name() }

// Len is [shardq.Queue.Len].
func (k Keys[K]) Len() int { return k.queue.Len() }

// Stats is [shardq.Queue.Stats].
func (k Keys[K]) Stats() shardq.Stats { return k.queue.Stats() }

// Groups is [shardq.Queue.Groups].
func (k Keys[K]) Groups() iter.Seq[stats.Group] { return k.queue.Groups() }

// Snapshot is [shardq.Queue.Snapshot].
func (k Keys[K]) Snapshot(limit int) shardq.Snapshot[K] { return k.queue.Snapshot(limit) }

// All is [shardq.Queue.All].
func (k Keys[K]) All(state stats.State) iter.Seq[stats.Item[K]] { return k.queue.All(state) }

// Lookup is [shardq.Queue.Lookup].
func (k Keys[K]) Lookup(key K) (stats.Item[K], bool) { return k.queue.Lookup(key) }

// NumRequeues is [shardq.Queue.NumRequeues].
func (k Keys[K]) NumRequeues(key K) int { return k.queue.NumRequeues(key) }

// RecentFailures is [shardq.Queue.RecentFailures].
func (k Keys[K]) RecentFailures(limit int) (failed, discarded []stats.Failure[K]) {
	return k.queue.RecentFailures(limit)
}

// Inspect is [shardq.Queue.Inspect], without an Operator.
func (k Keys[K]) Inspect() stats.Inspection { return readOnly{k.queue.Inspect()} }

type readOnly struct{ stats.Inspection }

func (readOnly) Operator() stats.Operator { return nil }
