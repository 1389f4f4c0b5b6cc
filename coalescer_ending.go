package shardq

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A coalescerEnding ends a coalescer in two steps: first no value is taken in any more; and when
// all calls that were let in before have added their keys, the queue is shut down. So no
// value is let in whose key the queue then drops. ShutDown does not wait for such calls: the
// last of them takes the second step.
type coalescerEnding struct {
	// open counts the stripes that are not closed, or have calls under way.
	open atomic.Int32
	// passed is closed when the queue is shut down.
	passed chan struct{}
	// stopping says that a ShutDown was called.
	stopping atomic.Bool
}

func (e *coalescerEnding) init(stripes int) {
	e.open.Store(int32(stripes))
	e.passed = make(chan struct{})
}

// endedContext is a context that has ended: a Drain with it begins the shutdown, and does not wait.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// close takes the first step.
func (c *Coalescer[K, V]) close() {
	c.room.Close()
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
	_, _ = c.queue.shards.Drain(endedContext, AwaitWaiting)
	close(c.ending.passed)
	if c.ending.stopping.Load() {
		c.stop()
	}
}

// stop ends all delays at once, so that nothing is dropped with them, and the wait of every
// Drain.
func (c *Coalescer[K, V]) stop() {
	_, _ = c.queue.shards.Drain(endedContext, RunWaiting)
	c.queue.ShutDown()
}

// ShutDown begins the shutdown: later values are refused with [ErrShutDown], and what is
// pending is still handed out, also what waits for its retry, which comes at once. A Take
// that finds nothing more returns ErrShutDown.
//
// It waits neither for workers nor for a Put that is under way, but otherwise as
// [Queue.ShutDown] does. It may be called again, and ends the wait of every Drain under way.
func (c *Coalescer[K, V]) ShutDown() {
	c.ending.stopping.Store(true)
	c.close()
	select {
	case <-c.ending.passed: // else the last call sees stopping
		c.stop()
	default:
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
// If ctx ends before all is done, or somebody calls ShutDown, it returns a [*DrainError]
// that says which keys are left; their values can still be taken. Somebody has to call Drain
// once more then, or ShutDown, or a Take that finds nothing more waits on.
func (c *Coalescer[K, V]) Drain(ctx context.Context, options DrainOptions) (dropped []Pending[K, V], err error) {
	if !options.Waiting.Valid() {
		panic(fmt.Sprintf("shardq: DrainOptions.Waiting is %d: want DropWaiting, RunWaiting or AwaitWaiting", options.Waiting))
	}
	end := ctx.Done() // a nil context panics before anything is changed
	c.close()
	select {
	case <-c.ending.passed:
	default:
		select {
		case <-c.ending.passed:
		case <-end:
			return nil, c.queue.drainError(ctx.Err(), options.Limit)
		}
	}
	keys, err := c.queue.Drain(ctx, options)
	if err == nil {
		return c.sweep(), nil // and what a hook that panicked has kept from the queue
	}
	return c.collect(keys), err
}

// collect takes what the queue has dropped the keys of.
func (c *Coalescer[K, V]) collect(keys []K) (dropped []Pending[K, V]) {
	for _, key := range keys {
		s := c.stripeOf(key)
		s.mu.Lock()
		if e := s.entries[key]; e != nil && !e.queued { // else it comes anyway
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
		c.room.Leave(weight)
		dropped = append(dropped, Pending[K, V]{key, value})
	}
	s.removeLocked(key, e)
	return dropped
}
