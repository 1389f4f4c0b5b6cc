package coalesce

import (
	"context"
	"sync"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shard"
)

// Drain shuts the coalescer down in good order. Later puts return
// [shardq.ErrShutDown]. Delayed keys are treated as the options say. Drain
// blocks until no value is pending and no key is in processing or delayed.
// Workers must go on meanwhile. A worker that owes a Done must not call Drain.
//
// By default Retry and PutBack refuse values. With [shardq.AcceptRetries] they
// accept values until the drain is over, and Drain waits for these as well.
// Drain returns the values of the delayed keys that it dropped.
//
// Drain returns a [*DrainError] if ctx ends first, or if another call is
// ShutDown. The values that are left can still be taken, or [DrainError.Left]
// takes them out. Call Drain again then, or ShutDown, because until then a Take
// that finds nothing ready blocks.
func (c *Coalescer[K, V]) Drain(ctx context.Context, options shardq.DrainOptions) (dropped []Entry[K, V], err error) {
	mustBeValid(options)
	_ = ctx.Done() // a nil context panics before anything is changed
	before := c.ending.shutDownCalls()
	c.ending.retries.Decide(options.Retries == shardq.AcceptRetries)
	c.close()
	if cause := c.ending.await(ctx); cause != nil {
		return nil, c.endedEarly(ctx, cause)
	}
	released := c.shards.Released() // before the count is read, so that no ShutDown is missed
	if c.ending.shutDownCalls() != before {
		released = alreadyReleased
	}
	// Values stay in their lines until all user code has returned.
	keys, err := c.engine.Drain(ctx, draining(options), released, c.drained)
	return c.takeDropped(keys, err), err
}

// DrainWith returns [Coalescer.Drain] with these options, for
// worker.Options.Drain. There, Retries defaults to [shardq.AcceptRetries]. An
// unknown policy panics.
func (c *Coalescer[K, V]) DrainWith(options shardq.DrainOptions) func(context.Context) (dropped []Entry[K, V], err error) {
	mustBeValid(options)
	if options.Retries == shardq.DefaultRetries {
		options.Retries = shardq.AcceptRetries
	}
	return func(ctx context.Context) ([]Entry[K, V], error) { return c.Drain(ctx, options) }
}

func draining(o shardq.DrainOptions) shard.Draining {
	return shard.Draining{Delayed: o.Delayed, Retries: o.Retries == shardq.AcceptRetries}
}

func mustBeValid(options shardq.DrainOptions) {
	if err := options.Validate(); err != nil {
		panic(err.Error())
	}
}

func (c *Coalescer[K, V]) drained(ctx context.Context, cause error) error {
	if cause != nil {
		return c.endedEarly(ctx, cause)
	}
	c.engine.LogShutDown()
	return nil
}

func (c *Coalescer[K, V]) endedEarly(ctx context.Context, cause error) error {
	return &DrainError[K, V]{DrainError: c.engine.EndedEarly(ctx, cause).(*shardq.DrainError[K]), coalescer: c}
}

// takeDropped takes the values of the keys that a drain has dropped. After a
// drain without an error, these are all values that are pending.
func (c *Coalescer[K, V]) takeDropped(keys []K, err error) (dropped []Entry[K, V]) {
	if err != nil {
		return c.takeDelayed(keys)
	}
	c.ending.retries.Decide(false) // no worker has a value any more
	return c.takeLeft()
}

// takeDelayed takes the values of those of the keys that no Take will return.
func (c *Coalescer[K, V]) takeDelayed(keys []K) (dropped []Entry[K, V]) {
	for _, key := range keys {
		s := c.stripeOf(key)
		s.mu.Lock()
		if l := s.lines[key]; l != nil && l.key >= delayed {
			dropped = c.takeLineLocked(dropped, s, key, l)
		}
		s.mu.Unlock()
	}
	return dropped
}

// takeLineLocked appends the values of a line to entries, and removes the line.
// No call is merging one of them.
func (c *Coalescer[K, V]) takeLineLocked(entries []Entry[K, V], s *stripe[K, V], key K, l *line[V]) []Entry[K, V] {
	for l.first != nil {
		value, weight := l.removeFirst()
		c.limit.Release(weight)
		entries = append(entries, Entry[K, V]{key, value})
	}
	s.removeLocked(key, l)
	return entries
}

// A DrainError lists what was left when a [Coalescer.Drain], or the drain of a
// [worker.Pool], ended early. It embeds and wraps the [*shardq.DrainError] of
// the queue of keys.
type DrainError[K comparable, V any] struct {
	*shardq.DrainError[K]

	coalescer *Coalescer[K, V]
	once      sync.Once
	entries   []Entry[K, V]
}

// Left takes the pending values out of the Coalescer and returns them. Values
// that workers have are not among them. A key has several values, in their
// order, if no call has merged them. Each call returns the same slice.
//
// Left blocks until Merge and Weight have returned in all Puts in progress.
func (e *DrainError[K, V]) Left() []Entry[K, V] {
	e.once.Do(func() {
		<-e.coalescer.ending.queueClosed // no Put is in progress any more
		e.entries = e.coalescer.takeLeft()
		for i := range e.entries { // otherwise the queue would hand out keys without values
			e.coalescer.queue.Cancel(e.entries[i].Key)
		}
	})
	return e.entries
}

// Unwrap returns the DrainError of the queue of keys.
func (e *DrainError[K, V]) Unwrap() error { return e.DrainError }

// Refresh returns the error with what is left now. Its Left takes out the
// pending values, unless that of e has done so. A [worker.Pool] calls Refresh
// when its last worker has left.
func (e *DrainError[K, V]) Refresh() error {
	return &DrainError[K, V]{DrainError: e.DrainError.Refreshed(), coalescer: e.coalescer}
}

// takeLeft takes all pending values, except those that a Take is merging: that
// Take returns them.
func (c *Coalescer[K, V]) takeLeft() (all []Entry[K, V]) {
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		s.mu.Lock()
		for key, l := range s.lines {
			if !l.isMerging() && !l.first.taking {
				all = c.takeLineLocked(all, s, key, l)
			}
		}
		s.mu.Unlock()
	}
	return all
}
