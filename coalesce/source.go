package coalesce

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

// KeepWaits is [shardq.Queue.KeepWaits]. A [worker.Pool] calls it.
func (c *Coalescer[K, V]) KeepWaits() { c.queue.KeepWaits() }
