package coalesce

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq/shard"
)

// An ending ends a coalescer in two steps. First the stripes are closed, and
// accept no more values. Then the last call that was admitted before closes the
// queue of keys. So the queue drops no key whose value was accepted, and
// ShutDown does not wait for these calls.
type ending struct {
	open atomic.Int32 // stripes that are not closed or have admitted calls in progress
	// queueClosed is closed when the queue is, and the last call has no
	// ShutDown left to carry out.
	queueClosed chan struct{}
	retries     shard.Retries // whether values are accepted from workers

	mu sync.Mutex // guards the fields below
	// shutDowns counts the calls of ShutDown, and carriedOut those of them that
	// the last call has carried out.
	shutDowns, carriedOut int
	over                  bool // queueClosed is closed
}

func (e *ending) init(stripes int) {
	e.open.Store(int32(stripes))
	e.queueClosed = make(chan struct{})
}

func (e *ending) shutDownCalls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shutDowns
}

// nextShutDown reports whether the last admitted call has a ShutDown to carry
// out. If not, it ends the wait for queueClosed in the same hold of the lock:
// a Drain that began after a ShutDown must not go on before that is carried out,
// and then be ended by it.
func (e *ending) nextShutDown() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.carriedOut < e.shutDowns {
		e.carriedOut = e.shutDowns
		return true
	}
	e.over = true
	close(e.queueClosed)
	return false
}

func (e *ending) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.over {
		e.over = true
		close(e.queueClosed)
	}
}

// await waits for queueClosed, or returns the error of ctx, unless both have
// happened.
func (e *ending) await(ctx context.Context) error {
	select {
	case <-e.queueClosed:
	case <-ctx.Done():
		select {
		case <-e.queueClosed:
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

// stripeEnded is called once for each stripe, when it is closed and has no
// admitted call in progress. The last call takes the second step. It leaves
// delayed keys alone, because Drain or stop decides about them.
func (c *Coalescer[K, V]) stripeEnded() {
	if c.ending.open.Add(-1) > 0 {
		return
	}
	defer c.ending.finish() // also if stop panics
	defer func() {          // also if the clock or a hook panics
		for c.ending.nextShutDown() {
			c.stop()
		}
	}()
	defer func() {
		c.beginDrain(shard.Draining{Delayed: shard.AwaitDelayed, Retries: c.ending.retries.Taken()})
	}()
	c.endLingers() // may panic
}

// stop makes all delayed keys ready, so that the shutdown of the queue drops
// none of them, and ends the wait of every Drain.
func (c *Coalescer[K, V]) stop() {
	defer c.queue.ShutDown() // also if the clock or a hook panics
	c.beginDrain(shard.Draining{Delayed: shard.RunDelayed})
}

// beginDrain does not wait for the end of the drain, which drops nothing.
func (c *Coalescer[K, V]) beginDrain(d shard.Draining) {
	var dropped []K
	_ = c.shards.DrainUntil(endedContext, d, nil, &dropped)
}

var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// alreadyReleased is for a Drain during which ShutDown was called.
var alreadyReleased = endedContext.Done()

// ShutDown shuts the coalescer down: later puts return [shardq.ErrShutDown],
// delayed keys become ready at once, and pending values are still handed out. A
// Take that finds nothing ready returns shardq.ErrShutDown. ShutDown waits for
// no other call, and ends the wait of every Drain.
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
	return c.shards.WaitIdle(ctx, c.stripes.empty)
}
