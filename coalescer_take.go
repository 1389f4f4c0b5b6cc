package shardq

import (
	"context"
)

// take takes the next key that has a value. Some have none: those whose value came with an
// earlier Take, such as when the delay of a retry ends.
func (c *Coalescer[K, V]) take(ctx context.Context) (key K, value V, err error) {
	for {
		if key, err = c.queue.GetContext(ctx); err != nil {
			return key, value, err
		}
		if value, ok := c.claim(key); ok {
			return key, value, nil
		}
	}
}

// claim takes the value of a key in processing, all that can be had of it just now. If there
// is none, it ends the processing.
func (c *Coalescer[K, V]) claim(key K) (value V, ok bool) {
	s := c.stripeOf(key)
	s.mu.Lock()
	e := s.entries[key]
	if e == nil || e.first.merging {
		c.passByLocked(s, key, e)
		return value, false
	}
	c.unifyLocked(s, e, func() { c.handBack(key) })
	return c.claimLocked(s, key, e), true
}

// passByLocked ends the processing of a key that has no value now, and puts the lock down.
// Whoever is merging that value adds the key when it is through: it was let in, so the queue
// takes adds until then.
func (c *Coalescer[K, V]) passByLocked(s *coalescerStripe[K, V], key K, e *entry[V]) {
	if e != nil {
		e.first.wanted = true
		e.queued = false
	}
	s.mu.Unlock()
	c.queue.Done(key)
}

// unifyLocked merges into the first part those that are at rest behind it, which come with it.
// It may put the lock down meanwhile. If user code panics, fail is called with no lock
// held; the parts are where they were.
func (c *Coalescer[K, V]) unifyLocked(s *coalescerStripe[K, V], e *entry[V], fail func()) {
	e.queued = true // by whoever has the key now: a Drain that drops its delay leaves it alone
	first := e.first
	for n := e.length(); n > 1; n-- { // not those that come meanwhile, or it might not end
		if next := first.next; next == nil || next.merging || next.apart {
			return
		}
		c.mergeNextLocked(s, e, first, func() {
			s.mu.Unlock()
			c.room.Look()
			fail()
		})
	}
}

// claimLocked takes the first part, and puts the lock down. If there are others, the key is to
// be handed out again when it is Done.
func (c *Coalescer[K, V]) claimLocked(s *coalescerStripe[K, V], key K, e *entry[V]) (value V) {
	value, weight := e.removeFirst()
	switch rest := e.first; {
	case rest == nil:
		s.removeLocked(key, e)
		c.room.Leave(weight)
		s.mu.Unlock()
	case rest.merging: // whoever does that adds the key
		rest.wanted = true
		e.queued = false
		c.leaveRestLocked(rest, weight)
		s.mu.Unlock()
	default:
		e.queued = true
		c.leaveRestLocked(rest, weight)
		s.mu.Unlock()
		c.queue.shards.Again(key)
	}
	c.room.Look()
	return value
}

// leaveRestLocked gives up the room of a part that was taken. If keys are counted, the
// key stays.
func (c *Coalescer[K, V]) leaveRestLocked(rest *part[V], weight int64) {
	if c.weigh == nil {
		rest.weight += weight
	} else {
		c.room.Leave(weight)
	}
}

// handBack ends the processing of a key without its value having been taken: it comes again,
// also after a shutdown.
func (c *Coalescer[K, V]) handBack(key K) {
	c.queue.shards.Again(key)
	c.queue.Done(key)
}
