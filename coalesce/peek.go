package coalesce

import (
	"iter"

	"github.com/shardq/shardq/shard"
)

// Peek returns the value of key that no worker has processed yet, and reports
// whether there is one. It is the Merge of the value that a worker has, if one
// has, and of all that is pending: each value whose Put has returned, until
// Done.
//
// Peek panics without [Options].Readable. The value may be shared with a
// worker, so the caller must not modify it.
func (c *Coalescer[K, V]) Peek(key K) (value V, ok bool) {
	c.mustBeReadable("Peek")
	s := c.stripeOf(key)
	var some [4]V
	s.mu.Lock()
	parts := s.partsLocked(key, some[:0])
	s.mu.Unlock()
	return c.joinParts(parts)
}

// Range returns an iterator over all keys that have a value, as
// [Coalescer.Peek] returns it, in any order. It sees each key that has a value
// all the time, and perhaps keys that come or go meanwhile.
func (c *Coalescer[K, V]) Range() iter.Seq2[K, V] {
	c.mustBeReadable("Range")
	return func(yield func(K, V) bool) {
		for i := range c.stripes.all {
			for _, key := range c.stripes.all[i].keysWithValues() {
				if value, ok := c.Peek(key); ok && !yield(key, value) {
					return
				}
			}
		}
	}
}

func (c *Coalescer[K, V]) mustBeReadable(method string) {
	if !c.readable {
		panic("coalesce: " + method + " was called without Options.Readable")
	}
}

func (c *Coalescer[K, V]) joinParts(parts []V) (value V, ok bool) {
	for i, part := range parts {
		if i == 0 {
			value = part
		} else {
			value = c.merge(value, part)
		}
	}
	return value, len(parts) > 0
}

// partsLocked appends the values of a key to parts, the oldest first. A segment
// that is merging still has its value: Merge does not modify it.
func (s *stripe[K, V]) partsLocked(key K, parts []V) []V {
	if f, is := s.flights.lookup(key); is {
		parts = append(parts, f.value)
	}
	if l := s.lines[key]; l != nil {
		for at := l.first; at != nil; at = at.next {
			parts = append(parts, at.value)
		}
	}
	return parts
}

func (s *stripe[K, V]) keysWithValues() (keys []K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.lines {
		keys = append(keys, key)
	}
	if s.flights == nil {
		return keys
	}
	for key := range s.flights.of {
		if s.lines[key] == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

func (s *stripe[K, V]) takeOffLocked(key K, value V, at shard.Handle) {
	if s.flights == nil {
		s.flights = &flights[K, V]{}
	}
	s.flights.insert(key, flight[V]{value, at})
}

// land forgets the value of a processing that is about to end.
func (c *Coalescer[K, V]) land(key K) {
	if c.readable {
		s := c.stripeOf(key)
		s.mu.Lock()
		s.flights.remove(key)
		s.mu.Unlock()
	}
}

// landAt is land for the end of a claim, which may be too late.
func (c *Coalescer[K, V]) landAt(key K, at shard.Handle) {
	if c.readable {
		s := c.stripeOf(key)
		s.mu.Lock()
		s.landLocked(key, at)
		s.mu.Unlock()
	}
}

func (s *stripe[K, V]) landLocked(key K, at shard.Handle) {
	if f, is := s.flights.lookup(key); is && f.at.Place() == at.Place() && f.at.Fence() == at.Fence() {
		s.flights.remove(key)
	}
}
