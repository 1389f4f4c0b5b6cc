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
// Retry and PutBack refuse values, unless the options say
// [shardq.AcceptRetries]. Drain returns the values of the delayed keys that it
// dropped. If ctx ends first, or another call is ShutDown, it returns a
// [*DrainError]. Call Drain again then, or ShutDown: until then a Take that
// finds nothing ready blocks.
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
	how := shard.Draining{Delayed: options.Delayed, Retries: options.Retries == shardq.AcceptRetries}
	keys, err := c.engine.Drain(ctx, how, released, c.drained)
	if err != nil {
		return c.takeDelayed(keys), err
	}
	c.ending.retries.Decide(false) // no worker has a value any more
	return c.takeLeft(), nil
}

// DrainWith returns [Coalescer.Drain] with these options, for
// worker.Options.Drain. There, Retries defaults to [shardq.AcceptRetries].
func (c *Coalescer[K, V]) DrainWith(options shardq.DrainOptions) func(context.Context) (dropped []Entry[K, V], err error) {
	mustBeValid(options)
	if options.Retries == shardq.DefaultRetries {
		options.Retries = shardq.AcceptRetries
	}
	return func(ctx context.Context) ([]Entry[K, V], error) { return c.Drain(ctx, options) }
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

// A DrainError lists what was left when a [Coalescer.Drain] ended early. It
// embeds and wraps the [*shardq.DrainError] of the queue of keys.
type DrainError[K comparable, V any] struct {
	*shardq.DrainError[K]

	coalescer *Coalescer[K, V]
	once      sync.Once
	entries   []Entry[K, V]
}

// Left takes the pending values out of the Coalescer and returns them, without
// those that workers have. A key has several values, in their order, if no call
// has merged them. Each call returns the same slice. Left waits for all Puts in
// progress.
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

// Refresh returns the error with what is left now. A [worker.Pool] calls it
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
