package shardq

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq/shard"
)

// A coalescerEnding ends a coalescer in two steps: first no value is taken in any more; and when
// all calls that were let in before have added their keys, the queue is shut down. So no
// value is let in whose key the queue then drops. ShutDown does not wait for such calls: the
// last of them takes the second step.
type coalescerEnding struct {
	// open counts the stripes that are not closed, or have calls under way.
	open atomic.Int32
	// passed is closed when the queue is shut down, and no ShutDown is left to the last call.
	passed chan struct{}
	// retries says whether values are taken back that workers have.
	retries shard.Retries

	mu sync.Mutex
	// shutDowns counts the calls of ShutDown, and heeded those that the last call has carried out.
	shutDowns, heeded int
	// over: passed is closed.
	over bool
}

func (e *coalescerEnding) init(stripes int) {
	e.open.Store(int32(stripes))
	e.passed = make(chan struct{})
}

// shutDown counts a call of ShutDown, and reports whether the caller has to carry it out: otherwise
// the last call does that.
func (e *coalescerEnding) shutDown() (over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shutDowns++
	return e.over
}

// calls returns how often ShutDown was called.
func (e *coalescerEnding) calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shutDowns
}

// next reports whether the last call has a ShutDown to carry out. If not, all have passed: so no
// Drain that waits for that goes on, and is then ended by a ShutDown that was called before it.
func (e *coalescerEnding) next() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.heeded < e.shutDowns {
		e.heeded = e.shutDowns
		return true
	}
	e.finishLocked()
	return false
}

// finish lets go on who waits for passed, also if the clock panicked.
func (e *coalescerEnding) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finishLocked()
}

func (e *coalescerEnding) finishLocked() {
	if !e.over {
		e.over = true
		close(e.passed)
	}
}

// endedContext is a context that has ended: a Drain with it begins the shutdown, and does not wait.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// alreadyReleased is closed: a ShutDown has come.
var alreadyReleased = endedContext.Done()

// close takes the first step.
func (c *Coalescer[K, V]) close() {
	c.limit.Close()
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		s.mu.Lock()
		last := !s.closed && s.passing == 0
		s.closed = true
		s.mu.Unlock()
		if last {
			c.passed()
		}
	}
}

// passed is called once for each stripe, when that is closed and no call is under way there.
// The last takes the second step. What waits waits on: that is up to Drain, or to stop.
func (c *Coalescer[K, V]) passed() {
	if c.ending.open.Add(-1) > 0 {
		return
	}
	defer c.ending.finish()
	defer func() { // also if the clock or a hook panics
		for c.ending.next() {
			c.stop()
		}
	}()
	c.drainAtOnce(AwaitWaiting, c.ending.retries.Taken())
}

// stop ends all delays at once, so that nothing is dropped with them, and the wait of every
// Drain.
func (c *Coalescer[K, V]) stop() {
	defer c.queue.ShutDown() // also if the clock or a hook panics
	c.drainAtOnce(RunWaiting, false)
}

// drainAtOnce begins a drain of the queue that drops nothing, and does not wait for its end.
func (c *Coalescer[K, V]) drainAtOnce(waiting WaitingPolicy, retries bool) {
	d := shard.Draining{Waiting: waiting, Retries: retries}
	var dropped []K
	_ = c.queue.shards.DrainUntil(endedContext, d, nil, &dropped)
}

// ShutDown begins the shutdown: later values are refused with [ErrShutDown], and what is
// pending is still handed out, also what waits for its retry, which comes at once. A Take
// that finds nothing more returns ErrShutDown.
//
// It waits neither for workers nor for a Put that is under way, but otherwise as
// [Queue.ShutDown] does. It may be called again, and ends the wait of every Drain under way.
func (c *Coalescer[K, V]) ShutDown() {
	over := c.ending.shutDown()
	c.ending.retries.Decide(false)
	c.close()
	if over {
		c.stop()
	}
}

// ShuttingDown reports whether a shutdown has begun. It never becomes false again.
func (c *Coalescer[K, V]) ShuttingDown() bool {
	last := &c.stripes.all[len(c.stripes.all)-1]
	last.mu.Lock()
	defer last.mu.Unlock()
	return last.closed
}

// Drain ends the coalescer in good order, as [Queue.Drain] ends a queue: later values are refused,
// what waits for its retry is dealt with as the options say, and Drain waits until all is
// taken and Done. Workers have to go on meanwhile.
//
// It returns the values that it dropped, those that waited, in any order but that of a
// key's values; they are the caller's now. If Merge has not got to them, a key has several.
// With DrainOptions.Retries, Retry and PutBack go on to take values back until the drain is
// over, which waits for them.
//
// If ctx ends before all is done, or somebody calls ShutDown, it returns a
// [*CoalescerDrainError] that says how much is left, and whose Left takes the values out;
// otherwise they can still be taken. Somebody has to call Drain once more then, or
// ShutDown, or a Take that finds nothing more waits on.
func (c *Coalescer[K, V]) Drain(ctx context.Context, options DrainOptions) (dropped []Pending[K, V], err error) {
	options.mustBePossible()
	_ = ctx.Done() // a nil context panics before anything is changed
	before := c.ending.calls()
	c.ending.retries.Decide(options.Retries == TakeRetries)
	c.close()
	if cause := c.ending.awaitPassed(ctx); cause != nil {
		return nil, c.gaveUp(ctx, cause)
	}
	released := c.queue.shards.Released() // before the look at calls, lest one come in between
	if c.ending.calls() != before {
		released = alreadyReleased
	}
	// Values stay where they are until all code of the user's has returned.
	keys, err := c.queue.drainUntil(ctx, options, released, c.drained)
	return c.takeDropped(keys, err), err
}

// awaitPassed waits for passed, or returns the error of ctx.
func (e *coalescerEnding) awaitPassed(ctx context.Context) error {
	select {
	case <-e.passed:
		return nil
	default:
	}
	select {
	case <-e.passed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drained logs the end of a drain, and returns its error if it gave up.
func (c *Coalescer[K, V]) drained(ctx context.Context, cause error) error {
	if cause != nil {
		return c.gaveUp(ctx, cause)
	}
	c.queue.logEnd()
	return nil
}

// takeDropped takes the values of the keys that a drain has dropped. If it came to its
// end, without an error, that is all that there is.
func (c *Coalescer[K, V]) takeDropped(keys []K, err error) (dropped []Pending[K, V]) {
	if err != nil {
		return c.collect(keys)
	}
	c.ending.retries.Decide(false) // there is nobody left who could give a value back
	return c.sweep()
}

// collect takes what the queue has dropped the keys of.
func (c *Coalescer[K, V]) collect(keys []K) (dropped []Pending[K, V]) {
	for _, key := range keys {
		s := c.stripeOf(key)
		s.mu.Lock()
		if e := s.entries[key]; e != nil && e.key == backingOff { // else it comes anyway
			dropped = c.dropLocked(dropped, s, key, e)
		}
		s.mu.Unlock()
	}
	return dropped
}

// sweep takes all that there is.
func (c *Coalescer[K, V]) sweep() (dropped []Pending[K, V]) {
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		s.mu.Lock()
		for key, e := range s.entries {
			dropped = c.dropLocked(dropped, s, key, e)
		}
		s.mu.Unlock()
	}
	return dropped
}

// dropLocked takes the values of a key, for which no call is under way.
func (c *Coalescer[K, V]) dropLocked(dropped []Pending[K, V], s *coalescerStripe[K, V], key K, e *entry[V]) []Pending[K, V] {
	for e.first != nil {
		value, weight := e.removeFirst()
		c.limit.Release(weight)
		dropped = append(dropped, Pending[K, V]{key, value})
	}
	s.removeLocked(key, e)
	return dropped
}
