package coalesce

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shard"
)

// A valueReturn returns the value of a key in processing to its line.
type valueReturn[K comparable, V any] struct {
	c      *Coalescer[K, V]
	stripe *stripe[K, V]
	key    K
	value  V
	weight int64
	at     shard.Handle
	// priority is the least priority of the key when it is ready again.
	priority int
	// delay is how long the key is delayed, until deadline. If zero, it is not
	// delayed.
	delay    time.Duration
	deadline shard.Deadline
	// segment has the value in its line.
	segment *segment[V]
	// lingered says that the key lingered with newer values. They go with this
	// one then, and the linger ends.
	lingered bool
	// admitted says that the stripe counts the call. A call that finds the
	// stripe closed is not counted: a drain that accepts retries also accepts
	// the key.
	admitted bool
	// always says that the value is accepted after a shutdown has begun as
	// well. The processing goes on meanwhile, and drains wait for its end.
	always bool
}

// putBack returns a value, and ends the processing. The user code that it needs
// runs before anything is changed. If a hook or the clock panics after that,
// the value and its key are in their places.
func (c *Coalescer[K, V]) putBack(key K, value V, delay time.Duration) error {
	r := valueReturn[K, V]{c: c, stripe: c.stripeOf(key), key: key, value: value}
	r.weight, r.at = c.weightOf(value), c.shards.HandleOf(key)
	r.setDelay(delay)
	if !r.insert() {
		return shardq.ErrShutDown
	}
	defer c.shards.DoneAt(key, r.at) // also if the clock panics
	r.requeue()
	return nil
}

// setDelay delays the key if delay is positive. It reads the clock then.
func (r *valueReturn[K, V]) setDelay(delay time.Duration) {
	if delay > 0 {
		r.deadline = r.c.shards.DeadlineOf(shard.Delay{Duration: delay, Priority: r.priority})
		r.delay = delay
	}
}

// insert puts the value before all others of the key. The caller must call
// requeue afterwards. If a shutdown has begun that refuses the value, insert
// does nothing and reports false.
func (r *valueReturn[K, V]) insert() bool {
	c, s, weight := r.c, r.stripe, r.weight
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.always && !c.acceptsReturnsLocked(s) {
		return false
	}
	l := s.lines[r.key]
	isNew := l == nil
	if isNew {
		l = s.insertLocked(r.key)
	} else if c.weigh == nil {
		weight = 0 // the key has its room
	}
	if weight > 0 { // otherwise the limiter might count it as over capacity
		c.limit.ForceAcquire(weight)
	}
	r.segment = l.prepend(r.value, weight)
	r.segment.taking = true
	l.request(r.priority, isNew)
	if c.readable {
		s.landLocked(r.key, r.at)
	}
	if r.admitted = !s.closed; r.admitted {
		s.admitted++
	}
	state := queued
	if r.delay > 0 {
		state = delayed
	}
	r.lingered = l.key == lingering
	s.setStateLocked(l, state)
	return true
}

// requeue makes the key ready after its delay or, if there is none, at its
// Done. It ends the admitted call.
func (r *valueReturn[K, V]) requeue() {
	defer r.leave()
	shards, inProcessing := r.c.shards, false
	if r.delay > 0 {
		inProcessing = shards.Postpone(r.at, r.deadline, r.policy())
	} else {
		inProcessing = shards.AgainAt(r.at, r.priority)
	}
	if !inProcessing { // misuse: the caller did not have the key
		r.c.queue.AddAfter(r.key, r.delay)
	}
}

// policy chooses between the delay and that of newer values.
func (r *valueReturn[K, V]) policy() shard.DelayPolicy {
	switch {
	case r.c.putEndsBackoff:
		return shard.KeepEarliest
	case r.lingered:
		return shard.KeepNew
	default:
		return shard.KeepLatest
	}
}

func (r *valueReturn[K, V]) leave() {
	r.stripe.mu.Lock()
	r.segment.taking = false
	if r.admitted {
		r.c.leaveAndUnlock(r.stripe)
		return
	}
	r.stripe.mu.Unlock()
	r.c.limit.Notify()
}

func (c *Coalescer[K, V]) acceptsReturns(s *stripe[K, V]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.acceptsReturnsLocked(s)
}

func (c *Coalescer[K, V]) acceptsReturnsLocked(s *stripe[K, V]) bool {
	return !s.closed || c.ending.retries.Taken()
}
