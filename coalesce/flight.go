package coalesce

import (
	"maps"

	"github.com/shardq/shardq/shard"
)

// A flight is a value that a worker has, if Readable is set or it has a mark.
type flight[V any] struct {
	value V
	shown bool // to Peek
	mark  mark
	at    shard.Handle
}

func (f *flight[V]) exists() bool { return f.at != shard.Handle{} }

func (f *flight[V]) isOf(at shard.Handle) bool {
	return f.exists() && f.at.Place() == at.Place() && f.at.Fence() == at.Fence()
}

// flights has the values of a stripe that workers have. As a rule that is one, which
// costs no map.
type flights[K comparable, V any] struct {
	key  K
	one  flight[V] // of key, if it exists
	more map[K]flight[V]
	peak int32 // of more, as in a stripe
}

func (f *flights[K, V]) isOne(key K) bool { return f.one.exists() && f.key == key }

func (f *flights[K, V]) get(key K) flight[V] {
	if f.isOne(key) {
		return f.one
	}
	return f.more[key]
}

// put expects that the key has none.
func (f *flights[K, V]) put(key K, one flight[V]) {
	switch {
	case !f.one.exists():
		f.key, f.one = key, one
		return
	case f.more == nil:
		f.more, f.peak = map[K]flight[V]{}, smallMap
	}
	f.more[key] = one
	f.peak = max(f.peak, int32(len(f.more)))
}

func (f *flights[K, V]) remove(key K) {
	if f.isOne(key) {
		*f = flights[K, V]{more: f.more, peak: f.peak}
		return
	}
	delete(f.more, key)
	if isSparse(len(f.more), f.peak) {
		f.more, f.peak = smaller(f.more)
	}
}

func (f *flights[K, V]) keys(yield func(K) bool) {
	if !f.one.exists() || yield(f.key) {
		maps.Keys(f.more)(yield)
	}
}

func (c *Coalescer[K, V]) keepsFlights() bool { return c.options.Readable || c.sources.used.Load() }

func (s *stripe[K, V]) flightLocked(key K) (f flight[V]) {
	if s.extras != nil {
		f = s.extras.flights.get(key)
	}
	return f
}

// takeOffLocked returns the mark of an earlier processing of the key. It has ended
// by a Done, which has yet to come for the mark.
func (s *stripe[K, V]) takeOffLocked(key K, f flight[V]) (earlier mark) {
	earlier = s.landLocked(key)
	if f.shown || f.mark.of != nil {
		s.needExtras().flights.put(key, f)
	}
	return earlier
}

// landLocked returns the mark to whoever has the value now.
func (s *stripe[K, V]) landLocked(key K) mark {
	f := s.flightLocked(key)
	if f.exists() {
		s.extras.flights.remove(key)
	}
	return f.mark
}

func (s *stripe[K, V]) letGoLocked(key K, at shard.Handle) (m mark) {
	if f := s.flightLocked(key); f.isOf(at) {
		m = s.landLocked(key)
	}
	return m
}

func (c *Coalescer[K, V]) letGo(key K, at shard.Handle) (m mark) {
	if c.keepsFlights() {
		s := c.stripeOf(key)
		s.mu.Lock()
		m = s.letGoLocked(key, at)
		s.mu.Unlock()
	}
	return m
}

// finishAt follows the end of a processing whose value is done.
func (c *Coalescer[K, V]) finishAt(key K, at shard.Handle) {
	m := c.letGo(key, at)
	m.finish()
}

func (c *Coalescer[K, V]) finishIf(err *error, key K, at shard.Handle) {
	if *err == nil {
		c.finishAt(key, at)
	}
}

// isCanceled reports whether a value in processing must not go back.
func (c *Coalescer[K, V]) isCanceled(key K, at shard.Handle) bool {
	_, canceled := c.shards.Core.Changed(at)
	if !canceled && c.sources.used.Load() {
		s := c.stripeOf(key)
		s.mu.Lock()
		f := s.flightLocked(key)
		s.mu.Unlock()
		canceled = f.isOf(at) && f.mark.isDropped()
	}
	return canceled
}
