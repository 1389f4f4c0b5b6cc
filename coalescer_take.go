package shardq

import (
	"context"

	"github.com/shardq/shardq/shard"
)

// take takes the next key that has a value. Some have none: those whose value came with an
// earlier Take, such as when the delay of a retry ends.
func (c *Coalescer[K, V]) take(ctx context.Context) (key K, value V, at shard.Handle, err error) {
	for {
		if key, _, at, err = c.queue.shards.Take(ctx); err != nil {
			return key, value, at, err
		}
		if value, ok := c.claim(key, at); ok {
			return key, value, at, nil
		}
	}
}

// claim takes the value of a key in processing, all that can be had of it just now. If there
// is none, it ends the processing.
//
// A panic of the user's must find every value in an entry whose key the queue has.
// So Merge and Weight are called while the values are in the entry; where the
// processing is ended, which may call hooks, nothing is taken; and behind the
// taking, there is only code of our own.
func (c *Coalescer[K, V]) claim(key K, at shard.Handle) (value V, ok bool) {
	s := c.stripeOf(key)
	s.mu.Lock()
	e := s.entries[key]
	if !e.passedByLocked() {
		c.unifyLocked(s, e, func() { c.handBack(key, at) })
		return c.claimLocked(s, key, at, e), true
	}
	s.mu.Unlock()
	c.queue.shards.DoneAt(key, at)
	return value, false
}

// passedByLocked reports whether a Take that has the key finds no value now. The
// call that is merging that value adds the key when it is through: it was let in,
// so the queue takes adds until then.
func (e *entry[V]) passedByLocked() bool {
	if e == nil {
		return true
	}
	if e.first.merging {
		e.first.wanted = true
		e.key = absent
		return true
	}
	return false
}

// unifyLocked merges into the first part those that are at rest behind it, which come with it.
// It may put the lock down meanwhile. If user code panics, fail is called with no lock
// held; the parts are where they were.
func (c *Coalescer[K, V]) unifyLocked(s *coalescerStripe[K, V], e *entry[V], fail func()) {
	e.key = queued // by the caller, who has it: a Drain that drops its delay leaves it alone
	first := e.first
	for n := e.length(); n > 1; n-- { // not those that come meanwhile, or it might not end
		if next := first.next; next == nil || next.merging || next.apart {
			return
		}
		c.mergeNextLocked(s, e, first, func() {
			s.mu.Unlock()
			c.limit.Notify()
			fail()
		})
	}
}

// claimLocked takes the first part, and puts the lock down. If there are others, the key is to
// be handed out again when it is Done.
func (c *Coalescer[K, V]) claimLocked(s *coalescerStripe[K, V], key K, at shard.Handle, e *entry[V]) (value V) {
	value, weight := e.removeFirst()
	switch rest := e.first; {
	case rest == nil:
		s.removeLocked(key, e)
		c.limit.Release(weight)
		s.mu.Unlock()
	case rest.merging: // whoever does that adds the key
		rest.wanted = true
		e.key = absent
		c.leaveRestLocked(rest, weight)
		s.mu.Unlock()
	default:
		e.key = queued
		c.leaveRestLocked(rest, weight)
		s.mu.Unlock()
		c.queue.shards.Again(at)
	}
	c.limit.Notify()
	return value
}

// leaveRestLocked gives up the room of a part that was taken. If keys are counted, the
// key stays.
func (c *Coalescer[K, V]) leaveRestLocked(rest *part[V], weight int64) {
	if c.weigh == nil {
		rest.weight += weight
	} else {
		c.limit.Release(weight)
	}
}

// handBack ends the processing of a key without its value having been taken: it comes again,
// also after a shutdown.
func (c *Coalescer[K, V]) handBack(key K, at shard.Handle) {
	c.queue.shards.Again(at)
	c.queue.shards.DoneAt(key, at)
}
