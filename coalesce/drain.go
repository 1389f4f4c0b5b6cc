package coalesce

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/foreach"
	"github.com/shardq/shardq/internal/nowait"
	"github.com/shardq/shardq/shard"
)

// Drain shuts the coalescer down in good order, as the options say. It blocks
// until no value is pending and no key is in processing or delayed. Workers must
// go on meanwhile. A worker that owes a Done must not call Drain.
//
// Retry and PutBack refuse values, unless the options say [shardq.AcceptRetries].
// Drain returns the values of the delayed keys that it dropped, and a
// [*DrainError] if ctx ends first or ShutDown is called. After that error, call
// Drain again, or ShutDown: until you do, a Take that finds nothing ready blocks.
func (c *Coalescer[K, V]) Drain(ctx context.Context, options shardq.DrainOptions) (dropped []Entry[K, V], err error) {
	mustBeValid(options)
	_ = ctx.Done() // a nil context panics before anything is changed
	before := c.ending.shutDownCalls()
	c.ending.retries.Decide(options.Retries == shardq.AcceptRetries)
	c.close()
	if cause := await(ctx, c.ending.queueClosed); cause != nil {
		return nil, c.endedEarly(ctx, cause)
	}
	released := c.shards.Core.Released() // before the count is read, so that no ShutDown is missed
	if c.ending.shutDownCalls() != before {
		released = nowait.Ended.Done()
	}
	// Values stay in their lines until all user code has returned.
	how := shard.Draining{Delayed: options.Delayed, Retries: options.Retries == shardq.AcceptRetries}
	c.ending.drains.Add(1)
	defer c.ending.drains.Add(-1)
	defer c.shards.Core.LookIdle() // the values leave after their keys
	keys, err := c.engine.Drain(ctx, how, released, c.drained)
	dropped = c.takeDelayed(keys)
	if err == nil {
		c.ending.retries.Decide(false) // no worker has a value any more
		if c.ending.drains.Load() == 1 {
			dropped = c.takeLeft(dropped)
		}
	}
	return dropped, err
}

// DrainWith returns a function that calls [Coalescer.Drain] with these options,
// for a [worker.Pool]. In a pool, Retries defaults to [shardq.AcceptRetries].
// Values in a backoff are delayed: to store them, choose RunDelayed or
// AwaitDelayed.
func (c *Coalescer[K, V]) DrainWith(
	options shardq.DrainOptions,
) func(context.Context) (dropped []Entry[K, V], err error) {
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

// takeDelayed takes the values of keys that a drain has dropped.
func (c *Coalescer[K, V]) takeDelayed(keys []K) (dropped []Entry[K, V]) {
	return c.undrained.collect(func(dropped *[]Entry[K, V]) { c.takeOut(dropped, keys) })
}

// A leftover has the entries that a call had taken out when user code panicked. The
// next call returns them.
type leftover[K comparable, V any] struct {
	mu      sync.Mutex
	entries []Entry[K, V]
}

func (l *leftover[K, V]) collect(by func(all *[]Entry[K, V])) (all []Entry[K, V]) {
	all = l.take()
	returned := false
	defer func() {
		if !returned {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.entries = append(l.entries, all...)
		}
	}()
	by(&all)
	returned = true
	return all
}

func (l *leftover[K, V]) take() (entries []Entry[K, V]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, l.entries = l.entries, nil
	return entries
}

// takeOut takes the values of keys, before any user code runs, and then withdraws the keys.
// Their lines stay meanwhile, so that a value that is given back waits until it can add its
// key again.
func (c *Coalescer[K, V]) takeOut(entries *[]Entry[K, V], keys []K) {
	lines := make([]*line[V], len(keys))
	for i, key := range keys {
		lines[i] = c.takeLine(entries, key)
	}
	foreach.Do(len(keys), func(i int) { // also if user code panics
		if lines[i] != nil {
			c.withdraw(keys[i], lines[i])
		}
	})
}

func (c *Coalescer[K, V]) withdraw(key K, l *line[V]) {
	t := teller[K, V]{c: c, stripe: c.stripeOf(key), key: key, uncounted: true}
	defer t.cleaned(l)
	c.shards.Withdraw(key, nil)
}

// takeLine takes the values of a key, and returns its line if the caller must withdraw the key.
func (c *Coalescer[K, V]) takeLine(entries *[]Entry[K, V], key K) (mine *line[V]) {
	s := c.stripeOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if !l.isAtRest() && !l.isPostponed() {
		return nil
	}
	if l.tells == 0 { // otherwise the last teller withdraws the key
		l.tells, mine = 1, l
	}
	*entries = c.takeLineLocked(*entries, s, key, l)
	return mine
}

// takeLineLocked expects that no call is merging one of the values.
func (c *Coalescer[K, V]) takeLineLocked(entries []Entry[K, V], s *stripe[K, V], key K, l *line[V]) []Entry[K, V] {
	for l.first != nil {
		first := l.removeFirst() // what it marks leaves undone
		c.limit.Release(first.weight)
		entries = append(entries, Entry[K, V]{key, first.value})
	}
	s.emptiedLocked(key, l)
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

// Left takes the pending values out of the Coalescer and returns them. It waits
// for all Puts in progress.
func (e *DrainError[K, V]) Left() []Entry[K, V] {
	e.once.Do(func() {
		c := e.coalescer
		<-c.ending.queueClosed // no Put is in progress any more
		defer c.shards.Core.LookIdle()
		c.takeOut(&e.entries, c.keysOf((*line[V]).isAtRest))
	})
	return e.entries
}

// Unwrap returns the error of the queue of keys.
func (e *DrainError[K, V]) Unwrap() error { return e.DrainError }

// Refresh returns the error with the items left now. A [worker.Pool] calls it
// when its last worker has left.
func (e *DrainError[K, V]) Refresh() error {
	keys, _ := errors.AsType[*shardq.DrainError[K]](e.DrainError.Refresh())
	return &DrainError[K, V]{DrainError: keys, coalescer: e.coalescer}
}

// takeLeft takes all values, also those that have lost their keys because a hook has
// panicked. It leaves values that a Take is merging: that Take returns them.
func (c *Coalescer[K, V]) takeLeft(all []Entry[K, V]) []Entry[K, V] {
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		s.mu.Lock()
		for key, l := range s.lines {
			if l.isAtRest() {
				all = c.takeLineLocked(all, s, key, l)
			}
		}
		s.mu.Unlock()
	}
	return all
}

// An ending ends a coalescer in two steps. First the stripes are closed, and accept no more
// values. Then the last call that was admitted before closes the queue of keys. So the
// queue drops no key whose value was accepted, and ShutDown does not wait for these calls.
type ending struct {
	open atomic.Int32 // stripes that are not closed or have admitted calls in progress
	// queueClosed is closed when the queue is, and the last call has no
	// ShutDown left to carry out.
	queueClosed chan struct{}
	retries     shard.Retries // whether values are accepted from workers
	drains      atomic.Int32  // in progress; the last one also takes what has lost its key

	mu                    sync.Mutex // guards the fields below
	shutDowns, carriedOut int        // calls of ShutDown, and those that the last call has carried out
	over                  bool       // queueClosed is closed
}

func (e *ending) shutDownCalls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shutDowns
}

// nextShutDown reports whether the last admitted call has a ShutDown to carry out. If not,
// it ends the wait for queueClosed in the same hold of the lock: a Drain that began after a
// ShutDown must not go on before that is carried out, and then be ended by it.
func (e *ending) nextShutDown() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.carriedOut < e.shutDowns {
		e.carriedOut = e.shutDowns
		return true
	}
	if !e.over {
		e.over = true
		close(e.queueClosed)
	}
	return false
}

// await returns the error of ctx if that ends first.
func await(ctx context.Context, ended <-chan struct{}) error {
	select {
	case <-ended:
	case <-ctx.Done():
		select {
		case <-ended:
		default:
			return ctx.Err()
		}
	}
	return nil
}

// close takes the first step.
func (c *Coalescer[K, V]) close() {
	c.limit.Close()
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		s.mu.Lock()
		last := !s.closed && s.admitted == 0
		s.closed = true
		s.mu.Unlock()
		if last {
			c.stripeEnded()
		}
	}
}

// stripeEnded is called once for each stripe, when it is closed and has no admitted call in
// progress. The last call takes the second step. Drain or stop decides about delayed keys.
func (c *Coalescer[K, V]) stripeEnded() {
	if c.ending.open.Add(-1) > 0 {
		return
	}
	defer func() { // also if stop panics
		for c.ending.nextShutDown() {
		}
	}()
	defer func() { // also if the clock or a hook panics
		for c.ending.nextShutDown() {
			c.stop()
		}
	}()
	defer func() {
		c.beginDrain(shard.Draining{Delayed: shard.AwaitDelayed, Retries: c.ending.retries.Taken()})
	}()
	c.endLingers() // may panic
}

// stop makes all delayed keys ready, so that the queue drops none of them.
func (c *Coalescer[K, V]) stop() {
	defer c.queue.ShutDown() // also if the clock or a hook panics
	c.beginDrain(shard.Draining{Delayed: shard.RunDelayed})
}

// beginDrain does not wait for the end of the drain, which drops nothing.
func (c *Coalescer[K, V]) beginDrain(d shard.Draining) {
	var dropped []K
	defer func() { c.shards.ReturnLater(dropped) }() // what an earlier Drain has dropped that panicked
	_ = c.shards.DrainUntil(nowait.Ended, d, nil, &dropped)
}

// ShutDown shuts the coalescer down: later puts return [shardq.ErrShutDown],
// and pending values are still handed out.
func (c *Coalescer[K, V]) ShutDown() {
	c.ending.mu.Lock()
	c.ending.shutDowns++
	over := c.ending.over // otherwise the last admitted call carries this one out
	c.ending.mu.Unlock()
	c.ending.retries.Decide(false)
	c.close()
	if over {
		c.stop()
	}
}

// ShuttingDown reports whether a shutdown has begun.
func (c *Coalescer[K, V]) ShuttingDown() bool {
	last := &c.stripes.all[len(c.stripes.all)-1]
	last.mu.Lock()
	defer last.mu.Unlock()
	return last.closed
}

// WaitIdle blocks until there was a moment at which no value was pending, and
// no key in processing or delayed. It returns ctx.Err() if ctx ends first.
func (c *Coalescer[K, V]) WaitIdle(ctx context.Context) error {
	return c.shards.Core.WaitIdle(ctx, c.stripes.empty)
}
