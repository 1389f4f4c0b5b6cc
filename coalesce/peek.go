package coalesce

import "iter"

// Peek returns the value of key that no worker has processed yet. The caller
// must not modify it. To read a store behind the Coalescer as well, Peek first.
// A value that is being stored may be seen in both places, so a sum of both is
// not exact. Peek panics without [Options].Readable.
func (c *Coalescer[K, V]) Peek(key K) (value V, ok bool) {
	c.mustBeReadable("Peek")
	s := c.stripeOf(key)
	var some [4]V
	s.mu.Lock()
	parts := s.partsLocked(key, some[:0])
	s.mu.Unlock()
	for i, part := range parts {
		if i == 0 {
			value = part
		} else {
			value = c.options.Merge(value, part)
		}
	}
	return value, len(parts) > 0
}

// Range returns an iterator over all keys that have a value, in any order.
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
	if !c.options.Readable {
		panic("coalesce: " + method + " was called without Options.Readable")
	}
}

// partsLocked returns the oldest value first. A segment that is merging still
// has its value: Merge does not modify it.
func (s *stripe[K, V]) partsLocked(key K, parts []V) []V {
	if f := s.flightLocked(key); f.shown {
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
	if s.extras != nil {
		for key := range s.extras.flights {
			if s.lines[key] == nil {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
