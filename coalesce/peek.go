package coalesce

import (
	"iter"

	"github.com/shardq/shardq/shard"
)

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
	if f, _ := s.extras.lookup(key); f.shown {
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
	if s.extras == nil {
		return keys
	}
	for key := range s.extras.flights {
		if s.lines[key] == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// land returns the mark of a value whose processing is about to end.
func (c *Coalescer[K, V]) land(key K) (m mark) {
	if c.options.Readable || c.sources.used.Load() {
		s := c.stripeOf(key)
		s.mu.Lock()
		defer s.mu.Unlock()
		if f, is := s.extras.lookup(key); is {
			m = f.mark
			s.extras.remove(key)
		}
	}
	return m
}

// landAt is land for the end of a claim, which may be too late.
func (c *Coalescer[K, V]) landAt(key K, at shard.Handle) {
	if c.options.Readable {
		c.changeFlight(key, at, func(f *flight[V]) { *f = flight[V]{mark: f.mark, at: f.at} })
	}
}

func (c *Coalescer[K, V]) changeFlight(key K, at shard.Handle, change func(*flight[V])) {
	s := c.stripeOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, is := s.flightLocked(key, at); is {
		change(&f)
		s.extras.put(key, f)
	}
}

// letGoLocked returns the mark to whoever has the value now.
func (s *stripe[K, V]) letGoLocked(key K, at shard.Handle) mark {
	f, is := s.flightLocked(key, at)
	if is {
		s.extras.remove(key)
	}
	return f.mark
}

// A flight is a value that a worker has, if Readable is set or it has a mark.
type flight[V any] struct {
	value V
	shown bool // to Peek
	mark  mark
	at    shard.Handle
}

// extras has what few stripes have: the values that workers have, if Readable is
// set or there are sources, and what calls have left to the last teller of a key.
// It is nil at first.
type extras[K comparable, V any] struct {
	flights  map[K]flight[V]
	peak     int32 // of flights, as in a stripe
	deferred map[K][]deferred[K, V]
	// canceling has the keys whose processing Cancels are about to cancel.
	canceling map[K]int
	cancels   uint64 // the number of those that have done so
}

func (s *stripe[K, V]) needExtras() *extras[K, V] {
	if s.extras == nil {
		s.extras = &extras[K, V]{
			flights: map[K]flight[V]{}, peak: smallMap, deferred: map[K][]deferred[K, V]{}, canceling: map[K]int{},
		}
	}
	return s.extras
}

func (e *extras[K, V]) isCanceling(key K) bool { return e != nil && e.canceling[key] > 0 }

func (e *extras[K, V]) lookup(key K) (found flight[V], is bool) {
	if e == nil {
		return found, false
	}
	if len(e.flights) > 0 {
		found, is = e.flights[key]
	}
	return found, is
}

func (s *stripe[K, V]) flightLocked(key K, at shard.Handle) (f flight[V], is bool) {
	if f, is = s.extras.lookup(key); !is || f.at.Place() != at.Place() || f.at.Fence() != at.Fence() {
		return flight[V]{}, false
	}
	return f, true
}

// takeOffLocked returns the mark of an earlier processing of the key. It has ended
// by a Done, which has yet to come for the mark.
func (s *stripe[K, V]) takeOffLocked(key K, f flight[V]) (earlier mark) {
	e := s.needExtras()
	if len(e.flights) > 0 {
		earlier = e.flights[key].mark
	}
	e.put(key, f)
	return earlier
}

func (e *extras[K, V]) put(key K, f flight[V]) {
	if !f.shown && f.mark.of == nil {
		e.remove(key)
		return
	}
	e.flights[key] = f
	e.peak = max(e.peak, int32(len(e.flights)))
}

func (e *extras[K, V]) remove(key K) {
	delete(e.flights, key)
	if isSparse(len(e.flights), e.peak) {
		e.flights, e.peak = smaller(e.flights)
	}
}
