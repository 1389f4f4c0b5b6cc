package coalesce

import "github.com/shardq/shardq/shard"

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

func (c *Coalescer[K, V]) keepsFlights() bool { return c.options.Readable || c.sources.used.Load() }

func (s *stripe[K, V]) flightLocked(key K) (f flight[V]) {
	if s.extras != nil {
		f = s.extras.flights[key]
	}
	return f
}

// doneAndLand is Done of a value that may have a flight. With one, it calls no Hash,
// which might panic when the value has landed.
func (c *Coalescer[K, V]) doneAndLand(key K) {
	at, is := c.flightOf(key)
	if is && c.owner.DoneClaim(Entry[K, V]{Key: key}, c.engine.Tokens.Of(at)) == nil {
		return
	}
	defer c.landEnded(key)
	defer c.queue.Done(key) // also if the limiter panics
	c.queue.Forget(key)
}

// landEnded finishes a value whose processing was ended by a Done that was not owed. A
// processing that goes on keeps its flight: the next one, or one whose value a call returns.
func (c *Coalescer[K, V]) landEnded(key K) {
	core := c.shards.Core
	if at, is := c.flightOf(key); is && !core.Valid(at) && !core.Valid(at.Sealed()) {
		c.finishAt(key, at)
	}
}

func (c *Coalescer[K, V]) flightOf(key K) (at shard.Handle, is bool) {
	s := c.stripeOf(key)
	s.mu.Lock()
	f := s.flightLocked(key)
	s.mu.Unlock()
	return f.at, f.at != shard.Handle{}
}

// takeOffLocked returns the mark of an earlier processing of the key. It has ended
// by a Done, which has yet to come for the mark.
func (s *stripe[K, V]) takeOffLocked(key K, f flight[V]) (earlier mark) {
	earlier = s.landLocked(key)
	if f.shown || f.mark.of != nil {
		e := s.needExtras()
		e.flights[key] = f
		e.peak = max(e.peak, int32(len(e.flights)))
	}
	return earlier
}

// landLocked returns the mark to whoever has the value now.
func (s *stripe[K, V]) landLocked(key K) (m mark) {
	e := s.extras
	if e == nil || len(e.flights) == 0 {
		return m
	}
	m = e.flights[key].mark
	delete(e.flights, key)
	if isSparse(len(e.flights), e.peak) {
		e.flights, e.peak = smaller(e.flights)
	}
	return m
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
