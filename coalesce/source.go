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
