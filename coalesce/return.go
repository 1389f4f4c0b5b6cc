package coalesce

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shard"
)

type valueReturn[K comparable, V any] struct {
	c        *Coalescer[K, V]
	stripe   *stripe[K, V]
	key      K
	value    V
	weight   int64
	at       shard.Handle
	priority int           // the least of the key when it is ready again
	delay    time.Duration // of the key, until deadline, or 0
	deadline shard.Deadline
	segment  *segment[V] // of the value
	// lingered: the key lingered with newer values. They go with this one, and
	// the linger ends.
	lingered bool
	canceled bool // by a Cancel that goes on
	stale    bool // the last teller of the key finishes
	// admitted: the stripe counts the call. A call that finds the stripe closed
	// is not counted: a drain that accepts retries also accepts the key.
	admitted bool
	// always: the value is accepted after a shutdown has begun as well. The
	// processing goes on meanwhile, and drains wait for its end.
	always bool
}

// putBack runs the user code that it needs before anything is changed. If a hook
// or the clock panics after that, the value and its key are in their places.
func (c *Coalescer[K, V]) putBack(key K, value V, delay time.Duration) error {
	r := valueReturn[K, V]{c: c, stripe: c.stripeOf(key), key: key, value: value}
	r.weight, r.at = c.weightOf(value), c.shards.HandleOf(key)
	if c.isCanceled(key, r.at) {
		c.Done(key)
		return nil
	}
	r.setDelay(delay)
	if !r.insert() {
		return c.refuseReturn(key, r.at)
	}
	r.finish()
	return nil
}

func (r *valueReturn[K, V]) setDelay(delay time.Duration) {
	if delay > 0 {
		r.deadline = r.c.shards.Core.DeadlineOf(shard.Delay{Duration: delay})
		r.delay = delay
	}
}

// finish requeues the key and ends the processing, unless the key's last teller does.
func (r *valueReturn[K, V]) finish() {
	if !r.stale {
		defer r.c.shards.DoneAt(r.key, r.at) // also if the clock panics
		r.requeue()
	}
}

// insert puts the value before all others of the key. The caller must call
// finish afterwards. If a shutdown refuses the value, insert reports false.
func (r *valueReturn[K, V]) insert() bool {
	c, s := r.c, r.stripe
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.always && !c.acceptsReturnsLocked(s) {
		return false
	}
	l := c.restoreLocked(s, r.key, r.value, r.weight, r.priority, s.letGoLocked(r.key, r.at))
	r.priority = l.priority() // also of the values that another call has yet to put in
	r.segment = l.first
	r.segment.returning, r.segment.reserved = true, true
	if r.admitted = !s.closed; r.admitted {
		s.admitted++
	}
	r.lingered, r.canceled = l.key == lingering, s.extras != nil && s.extras.canceling[r.key] > 0
	if r.delay > 0 {
		s.setStateLocked(l, delayed)
	} else {
		s.setStateLocked(l, queued)
	}
	if l.trace == stale {
		back := *r
		s.deferLocked(r.key, deferred[K, V]{back: &back})
		r.stale = true
	}
	return true
}

func (c *Coalescer[K, V]) restoreLocked(
	s *stripe[K, V], key K, value V, weight int64, priority int, m mark,
) (l *line[V]) {
	l = s.lines[key]
	isNew := l.isEmpty()
	if l = s.lineLocked(key, l); !isNew && c.options.Weight == nil {
		weight = 0 // the key has its room
	}
	if weight > 0 { // otherwise the limiter might count it as over capacity
		c.limit.ForceAcquire(weight)
	}
	l.prepend(value, weight, priority, m)
	return l
}

func (r *valueReturn[K, V]) requeue() {
	defer r.leave()
	shards, inProcessing := r.c.shards, false
	if r.delay > 0 {
		inProcessing = shards.Core.Postpone(r.at, r.deadline, r.priority, r.policy())
	} else {
		inProcessing = shards.Core.Again(r.at, r.priority)
	}
	if !inProcessing { // misuse: the caller did not have the key
		r.c.queue.AddAfter(r.key, r.delay)
	}
}

func (r *valueReturn[K, V]) policy() shard.DelayPolicy {
	switch {
	case r.c.options.PutEndsBackoff, r.delay <= 0:
		return shard.KeepEarliest
	case r.lingered:
		return shard.KeepNew
	}
	return shard.KeepLatest
}

func (r *valueReturn[K, V]) leave() {
	s, core := r.stripe, r.c.shards.Core
	_, canceled := core.Changed(r.at)
	s.mu.Lock()
	l := s.lines[r.key]
	isHere := l.has(r.segment) && r.segment.returning               // otherwise a Cancel has the value
	if isHere && l.first == r.segment && (canceled || r.canceled) { // a Cancel came before the insert
		defer r.c.queue.Forget(r.key)
		x := canceler[K, V]{teller: teller[K, V]{c: r.c, stripe: s, key: r.key}}
		x.takeLocked(l)
		defer x.taken.mark.finish()
		isHere = false
	}
	if isHere {
		r.segment.returning, r.segment.reserved = false, false
	} else {
		r.withdrawLocked()
	}
	if r.admitted {
		r.c.leaveAndUnlock(s)
		return
	}
	s.mu.Unlock()
	r.c.limit.Notify() // the watermarks
}

// withdrawLocked takes the key out of the queue, because a Cancel has come for the
// value, unless others were put since.
func (r *valueReturn[K, V]) withdrawLocked() {
	s := r.stripe
	s.mu.Unlock()
	r.c.shards.Core.NotAgain(r.at)
	s.mu.Lock()
	l := s.lines[r.key]
	if l.isEmpty() || l.key == absent && l.first.merging {
		return // or the call that merges adds the key
	}
	s.setStateLocked(l, queued)
	priority := l.priority()
	s.mu.Unlock()
	r.c.shards.Core.Again(r.at, priority)
	s.mu.Lock()
}

// refuseReturn: the caller has the value of key, and will call Done all the same.
func (c *Coalescer[K, V]) refuseReturn(key K, at shard.Handle) error {
	s, canceled := c.stripeOf(key), c.isCanceled(key, at)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flightLocked(key); f.isOf(at) && !canceled {
		f.mark = mark{} // it leaves undone
		s.takeOffLocked(key, f)
	}
	return shardq.ErrShutDown
}

func (c *Coalescer[K, V]) acceptsReturns(s *stripe[K, V]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.acceptsReturnsLocked(s)
}

func (c *Coalescer[K, V]) acceptsReturnsLocked(s *stripe[K, V]) bool {
	return !s.closed || c.ending.retries.Taken()
}
