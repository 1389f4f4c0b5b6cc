package shardq

import (
	"context"
	"sync"
)

// A CoalescerDrainError says what was left when a [Coalescer.Drain] gave up, or Workers
// of a Coalescer did. It is, and wraps, the [*DrainError] of the queue of keys.
type CoalescerDrainError[K comparable, V any] struct {
	*DrainError[K]

	coalescer *Coalescer[K, V]
	once      sync.Once
	entries   []Pending[K, V]
}

// Left takes what is pending out of the Coalescer, and returns it: no Take returns these
// values any more, and they are the caller's. Values that a worker has taken, and not
// given back, are that worker's. If Merge has not got to the values of a key, they come
// one by one, in their order. Each call returns the same.
//
// Left waits for Puts that are under way, until Merge and Weight have returned in them.
// Without a call of Left the values stay where they are, and can be taken.
func (e *CoalescerDrainError[K, V]) Left() []Pending[K, V] {
	e.once.Do(func() {
		<-e.coalescer.ending.passed // no Put is under way any more
		e.entries = e.coalescer.takeOut()
		for i := range e.entries { // the queue would hand them out in vain
			e.coalescer.queue.Cancel(e.entries[i].Key)
		}
	})
	return e.entries
}

// Unwrap returns the DrainError.
func (e *CoalescerDrainError[K, V]) Unwrap() error { return e.DrainError }

// Refresh returns the error as it is now: see [DrainError.Refresh]. Its Left takes out
// what is pending, unless this one's has.
func (e *CoalescerDrainError[K, V]) Refresh() error {
	return &CoalescerDrainError[K, V]{DrainError: e.DrainError.refresh(), coalescer: e.coalescer}
}

// gaveUp looks at what is left.
func (c *Coalescer[K, V]) gaveUp(ctx context.Context, cause error) error {
	return &CoalescerDrainError[K, V]{DrainError: c.queue.gaveUp(ctx, cause), coalescer: c}
}

// takenPerHold bounds how many keys are taken out in one hold of a stripe's lock.
const takenPerHold = 128

// takeOut takes all that is pending, except what a Take is merging: that is the Take's.
func (c *Coalescer[K, V]) takeOut() (all []Pending[K, V]) {
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		for more := true; more; {
			var some []Pending[K, V]
			some, more = c.takeOutSome(s)
			all = append(all, some...)
		}
	}
	return all
}

func (c *Coalescer[K, V]) takeOutSome(s *coalescerStripe[K, V]) (some []Pending[K, V], more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.entries {
		if e.merging() {
			continue
		}
		if some = c.dropLocked(some, s, key, e); len(some) >= takenPerHold {
			return some, true
		}
	}
	return some, false
}

// merging reports whether some call has taken a value to merge it.
func (e *entry[V]) merging() bool {
	for p := e.first; p != nil; p = p.next {
		if p.merging {
			return true
		}
	}
	return false
}

// WaitIdle is [Queue.WaitIdle] of the coalescer: it returns nil once there was a moment
// during the call at which no value was pending, and no key was in processing or waited
// for a retry. It returns ctx.Err() if ctx ends before that.
func (c *Coalescer[K, V]) WaitIdle(ctx context.Context) error {
	return c.queue.shards.WaitIdle(ctx, c.stripes.empty)
}
