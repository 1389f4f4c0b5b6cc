package coalesce

import (
	"iter"

	"github.com/shardq/shardq/shard"
)

// A flight is a value that a worker has, if Readable is set or it has a mark.
type flight[V any] struct {
	value V
	shown bool // to Peek
	mark  mark
	at    shard.Handle
}

func (f *flight[V]) isOf(at shard.Handle) bool {
	return f.at.Place() == at.Place() && f.at.Fence() == at.Fence()
}

// flights has the values of a stripe that workers have. As a rule that is one, which
// costs no map.
type flights[K comparable, V any] struct {
	key  K
	one  flight[V]
	busy bool // one is of key
	more map[K]flight[V]
	peak int32 // of more, as in a stripe
}

func (f *flights[K, V]) get(key K) (found flight[V], is bool) {
	switch {
	case f.busy && f.key == key:
		return f.one, true
	case len(f.more) > 0:
		found, is = f.more[key]
	}
	return found, is
}

func (f *flights[K, V]) put(key K, one flight[V]) {
	_, known := f.more[key]
	switch {
	case !f.busy && !known, f.busy && f.key == key:
		f.key, f.one, f.busy = key, one, true
		return
	case f.more == nil:
		f.more, f.peak = map[K]flight[V]{}, smallMap
	}
	f.more[key] = one
	f.peak = max(f.peak, int32(len(f.more)))
}

func (f *flights[K, V]) remove(key K) {
	if f.busy && f.key == key {
		*f = flights[K, V]{more: f.more, peak: f.peak}
		return
	}
	delete(f.more, key)
	if isSparse(len(f.more), f.peak) {
		f.more, f.peak = smaller(f.more)
	}
}

func (f *flights[K, V]) keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		if f.busy && !yield(f.key) {
			return
		}
		for key := range f.more {
			if !yield(key) {
				return
			}
		}
	}
}

func (c *Coalescer[K, V]) keepsFlights() bool { return c.options.Readable || c.sources.used.Load() }

func (s *stripe[K, V]) flightLocked(key K) (f flight[V], is bool) {
	if s.extras != nil {
		f, is = s.extras.flights.get(key)
	}
	return f, is
}

// takeOffLocked returns the mark of an earlier processing of the key. It has ended
// by a Done, which has yet to come for the mark.
func (s *stripe[K, V]) takeOffLocked(key K, f flight[V]) (earlier mark) {
	all := &s.needExtras().flights
	old, is := all.get(key)
	if f.shown || f.mark.of != nil {
		all.put(key, f)
	} else if is {
		all.remove(key)
	}
	return old.mark
}

// land returns the mark of a value whose processing is about to end.
func (c *Coalescer[K, V]) land(key K) (m mark) {
	if !c.keepsFlights() {
		return m
	}
	s := c.stripeOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	f, is := s.flightLocked(key)
	if is {
		s.extras.flights.remove(key)
	}
	return f.mark
}

// letGoLocked is land for one processing.
func (s *stripe[K, V]) letGoLocked(key K, at shard.Handle) (m mark) {
	if f, is := s.flightLocked(key); is && f.isOf(at) {
		s.extras.flights.remove(key)
		m = f.mark
	}
	return m
}

// change changes the flight of a processing, if that has not ended.
func (c *Coalescer[K, V]) change(key K, at shard.Handle, change func(*flight[V])) {
	s := c.stripeOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, is := s.flightLocked(key); is && f.isOf(at) {
		change(&f)
		s.takeOffLocked(key, f)
	}
}

// hideAt hides a value whose claim is about to end from Peek.
func (c *Coalescer[K, V]) hideAt(key K, at shard.Handle) {
	if c.options.Readable {
		c.change(key, at, func(f *flight[V]) { *f = flight[V]{mark: f.mark, at: f.at} })
	}
}

// finishAt follows the end of a processing whose value is done.
func (c *Coalescer[K, V]) finishAt(key K, at shard.Handle) {
	if c.sources.used.Load() {
		s := c.stripeOf(key)
		s.mu.Lock()
		m := s.letGoLocked(key, at)
		s.mu.Unlock()
		m.finish()
	}
}

func (c *Coalescer[K, V]) finishIf(err *error, key K, at shard.Handle) {
	if *err == nil {
		c.finishAt(key, at)
	}
}

// leaveUndone forgets the mark of a processing that ends, whose value is not done.
func (c *Coalescer[K, V]) leaveUndone(key K, at shard.Handle) {
	if c.sources.used.Load() {
		c.change(key, at, func(f *flight[V]) { f.mark = mark{} })
	}
}

// isCanceled reports whether a value in processing must not go back.
func (c *Coalescer[K, V]) isCanceled(key K, at shard.Handle) bool {
	_, canceled := c.shards.Core.Changed(at)
	if !canceled && c.sources.used.Load() {
		c.change(key, at, func(f *flight[V]) { canceled = f.mark.isDropped() })
	}
	return canceled
}
