package shardq

import (
	"time"

	"github.com/shardq/shardq/shard"
)

// A giver gives the value of a key in processing back.
type giver[K comparable, V any] struct {
	c      *Coalescer[K, V]
	stripe *coalescerStripe[K, V]
	key    K
	value  V
	weight int64
	at     shard.Handle
	// delay is how long the key is to wait, until deadline; 0 if it is not to.
	delay    time.Duration
	deadline shard.Deadline
	// counted says that the end of the coalescer waits for the call. It need not once
	// a drain takes retries in: then the queue takes the key in any case.
	counted bool
	// always says that the value is laid back also once a shutdown has begun: the
	// processing goes on, and drains wait for its end.
	always bool
}

// putBack lays a value back, and ends the processing. The user code that this needs
// is called before anything is changed. What is called after that, hooks and the
// clock, finds everything where it belongs.
func (c *Coalescer[K, V]) putBack(key K, value V, delay time.Duration) error {
	g := giver[K, V]{c: c, stripe: c.stripeOf(key), key: key, value: value}
	g.weight, g.at = c.weightOf(value), c.queue.shards.HandleOf(key)
	g.wait(delay)
	if !g.layBack() {
		return ErrShutDown
	}
	defer c.queue.shards.DoneAt(key, g.at) // also if the clock panics
	g.comeAgain()
	return nil
}

// wait has the key wait for a delay. It reads the clock.
func (g *giver[K, V]) wait(delay time.Duration) {
	if delay > 0 {
		g.deadline = g.c.queue.shards.DeadlineIn(delay)
		g.delay = delay
	}
}

// layBack puts the value before all others of the key. Then comeAgain is to be
// called. Once a shutdown has begun, it reports false and does nothing.
func (g *giver[K, V]) layBack() bool {
	c, s, weight := g.c, g.stripe, g.weight
	s.mu.Lock()
	defer s.mu.Unlock()
	if !g.always && !c.takesBackLocked(s) {
		return false
	}
	e := s.entries[g.key]
	if e == nil {
		e = s.insertLocked(g.key)
	} else if c.weigh == nil {
		weight = 0 // the key has its room
	}
	if weight > 0 { // else the look at the capacity would count it
		c.limit.ForceAcquire(weight)
	}
	e.prependPart(g.value, weight)
	if g.counted = !s.closed; g.counted {
		s.passing++
	}
	if e.key = queued; g.delay > 0 {
		e.key = backingOff
	}
	return true
}

// comeAgain has the key come again when the delay has passed, or at its Done if
// there is none, and ends the call.
func (g *giver[K, V]) comeAgain() {
	defer g.leave()
	queue, inProcessing := g.c.queue.shards, false
	if g.delay > 0 {
		inProcessing = queue.Postpone(g.at, g.deadline, g.c.putEndsBackoff)
	} else {
		inProcessing = queue.Again(g.at)
	}
	if !inProcessing { // the caller has broken the rules
		queue.AddAfter(g.key, g.delay)
	}
}

func (g *giver[K, V]) leave() {
	if g.counted {
		g.c.leave(g.stripe)
	} else {
		g.c.limit.Notify()
	}
}

// takesBack reports whether values can be given back.
func (c *Coalescer[K, V]) takesBack(s *coalescerStripe[K, V]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.takesBackLocked(s)
}

func (c *Coalescer[K, V]) takesBackLocked(s *coalescerStripe[K, V]) bool {
	return !s.closed || c.ending.retries.Taken()
}
