package shardq

import (
	"context"
	"hash/maphash"

	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard"
)

// An acquisition says how a Put acquires the weight of its value.
type acquisition uint8

const (
	forceAcquire acquisition = iota // beyond the capacity if necessary
	tryAcquire                      // if the capacity allows
	acquired                        // done before, by Acquire
)

// put takes a value in.
func (c *Coalescer[K, V]) put(key K, value V, how acquisition) error {
	if c.queue.shards.Reject(key) {
		return ErrRejected
	}
	p := c.newPutter(key, value)
	return p.put(how)
}

// putWaiting is put, but waits until the capacity allows the value.
func (c *Coalescer[K, V]) putWaiting(ctx context.Context, key K, value V) error {
	if c.queue.shards.Reject(key) {
		return ErrRejected
	}
	p := c.newPutter(key, value)
	err := p.put(tryAcquire)
	if err != ErrFull {
		return err
	}
	switch err = c.limit.Acquire(ctx, p.weight); err {
	case nil:
		return p.put(acquired)
	case itemlimit.ErrClosed:
		return ErrShutDown
	default:
		return err
	}
}

// A putter is a Put under way.
type putter[K comparable, V any] struct {
	c       *Coalescer[K, V]
	stripe  *coalescerStripe[K, V]
	key     K
	value   V
	weight  int64
	address shard.Address
}

// newPutter calls the user code that a Put needs, but for Merge, before anything is
// changed.
func (c *Coalescer[K, V]) newPutter(key K, value V) putter[K, V] {
	p := putter[K, V]{c: c, stripe: c.stripeOf(key), key: key, value: value, weight: c.weightOf(value)}
	if c.routed {
		p.address = c.queue.shards.AddressOf(key)
	}
	return p
}

func (c *Coalescer[K, V]) stripeOf(key K) *coalescerStripe[K, V] {
	return c.stripes.of(maphash.Comparable(c.seed, key))
}

// weightOf returns the weight of a value, or 1 if keys are counted.
func (c *Coalescer[K, V]) weightOf(value V) int64 {
	if c.weigh == nil {
		return 1
	}
	return int64(min(max(c.weigh(value), 1), MaxValueWeight))
}

// put takes the value in, if it may.
func (p *putter[K, V]) put(how acquisition) error {
	s := p.stripe
	crowded := p.c.queue.shards.Crowded(p.key) // later its value would be in, and its key not
	s.mu.Lock()
	e := s.entries[p.key]
	if e != nil {
		crowded = nil // the key is in, or on its way
	}
	needed, err := p.acquireLocked(e, how, crowded)
	if err != nil {
		s.mu.Unlock()
		if how == acquired {
			p.c.limit.FinishAcquire()
		}
		return err
	}
	s.passing++
	known := e != nil
	if !known {
		e = s.insertLocked(p.key)
	}
	switch {
	case how == acquired:
		p.joinWaitedLocked(e, needed)
	case known:
		p.joinLocked(e, needed)
	default:
		e.appendPart(p.value, needed)
	}
	if known {
		s.merged++
	}
	s.put++
	p.releaseLocked(e)
	return nil
}

// acquireLocked acquires the weight that the value adds, and returns it. It
// refuses the value if crowded is an error.
func (p *putter[K, V]) acquireLocked(e *entry[V], how acquisition, crowded error) (needed int64, err error) {
	c := p.c
	if needed = p.weight; c.weigh == nil && e != nil {
		needed = 0 // the key has acquired its weight
	}
	switch {
	case p.stripe.closed:
		err = ErrShutDown
	case crowded != nil:
		err = crowded
	case how == tryAcquire && needed > 0 && !c.limit.TryAcquire(needed):
		return 0, ErrFull
	case how == forceAcquire && needed > 0:
		c.limit.ForceAcquire(needed)
	}
	if how == acquired {
		if err != nil {
			c.limit.Release(p.weight)
		} else {
			c.limit.Release(p.weight - needed)
		}
	}
	return needed, err
}

// joinLocked adds the value to those that are pending, and merges it if the last of them is at
// rest. Before that it merges two others, if there are neighbours at rest: before, so that
// if Merge panics there, the value is not in. A Put does no more than that, so that none
// has to work for all the others in a storm. The entry is still there afterwards, for some part
// of it has been there all the while.
func (p *putter[K, V]) joinLocked(e *entry[V], needed int64) {
	if left := e.neighbours(); left != nil {
		p.c.mergeNextLocked(p.stripe, e, left, func() { p.fail(e, needed) })
	}
	last := e.last
	if !last.atRest() {
		e.appendPart(p.value, needed)
		return
	}
	p.c.mergeLocked(p.stripe, last, p.value, needed, func() { p.fail(e, needed) })
}

// joinWaitedLocked is joinLocked of a value that has waited for the capacity.
// Merge may take long, or put a value itself, so the next waiter is granted
// before Merge is called. To keep the order of the waiters, the value takes its
// place first, and no call merges or takes it there. If Merge panics, the value
// is removed.
func (p *putter[K, V]) joinWaitedLocked(e *entry[V], needed int64) {
	own := e.appendPart(p.value, needed)
	own.merging = true
	p.stripe.mu.Unlock()
	p.c.limit.FinishAcquire()
	p.stripe.mu.Lock()
	fail := func() { p.leaveLine(e, own) }
	if left := e.neighbours(); left != nil {
		p.c.mergeNextLocked(p.stripe, e, left, fail)
	}
	own.merging = false
	if before := e.before(own); before != nil && before.atRest() {
		p.c.mergeNextLocked(p.stripe, e, before, fail)
	}
}

// leaveLine is fail of a Put whose value has its place already. All parts before it
// may have been taken meanwhile, so the part may be the first, and have the room of
// the key. It is not the only one, because Merge has panicked over others, or over it
// and another.
func (p *putter[K, V]) leaveLine(e *entry[V], own *part[V]) {
	weight := e.remove(own)
	if p.c.weigh == nil {
		e.first.weight += weight // the key stays
		weight = 0
	}
	p.fail(e, weight)
}

// fail ends a Put whose value cannot be merged. It is called with the lock held.
func (p *putter[K, V]) fail(e *entry[V], weight int64) {
	p.c.limit.Release(weight)
	p.releaseLocked(e)
}

// mergeNextLocked merges the part after one into that, as mergeLocked does. If it cannot, both
// are as before, and nobody tries again.
func (c *Coalescer[K, V]) mergeNextLocked(s *coalescerStripe[K, V], e *entry[V], left *part[V], fail func()) {
	right := e.unlinkNext(left)
	c.mergeLocked(s, left, right.value, right.weight, func() {
		right.apart = true
		e.relinkNext(left, right)
		fail()
	})
	*right = part[V]{} // it may be the entry's own: nothing is to refer to the value
}

// mergeLocked merges a value that comes next into that of a part that is at rest. It puts the
// lock down meanwhile, and has it again when it returns. If user code panics or ends the
// goroutine, the part is as before, and fail is called with the lock, and puts it down.
func (c *Coalescer[K, V]) mergeLocked(s *coalescerStripe[K, V], into *part[V], next V, weight int64, fail func()) {
	pending, merged := into.value, false
	into.merging = true
	s.mu.Unlock()
	defer func() {
		if !merged {
			s.mu.Lock()
			into.merging = false
			fail()
		}
	}()
	together := c.merge(pending, next)
	weighs := c.weightOf(together)
	merged = true
	s.mu.Lock()
	into.value, into.merging = together, false
	into.weight += weight // not before: leaveLine may have added the weight of the key meanwhile
	if c.weigh != nil {
		c.resize(weighs - into.weight)
		into.weight = weighs
	}
}

// resize changes the weight of a value. The caller must call Notify afterwards.
func (c *Coalescer[K, V]) resize(change int64) {
	if change > 0 {
		c.limit.ForceAcquire(change)
	} else if change < 0 {
		c.limit.Release(-change)
	}
}

// releaseLocked ends a Put, and puts the lock down. Before that it sees to it that
// a Take comes for the entry. If a hook or the clock panics there, the value and
// the key are in.
func (p *putter[K, V]) releaseLocked(e *entry[V]) {
	ends := p.c.putEndsBackoff
	if e.key == queued || e.key == backingOff && !ends {
		p.c.leaveLocked(p.stripe)
		return
	}
	e.key = queued
	p.stripe.mu.Unlock()
	defer p.c.leave(p.stripe)
	if !p.c.routed { // not before: most values meet another, and need no address
		p.address = p.c.queue.shards.AddressOf(p.key)
	}
	// By now the key may have been taken, and may wait for a retry.
	p.c.queue.shards.AddTo(p.key, p.address, !ends)
}

// leave ends a call that was let in.
func (c *Coalescer[K, V]) leave(s *coalescerStripe[K, V]) {
	s.mu.Lock()
	c.leaveLocked(s)
}

// leaveLocked ends a call that was let in, and puts the lock down.
func (c *Coalescer[K, V]) leaveLocked(s *coalescerStripe[K, V]) {
	s.passing--
	last := s.closed && s.passing == 0
	s.mu.Unlock()
	if last {
		c.passed()
	}
	c.limit.Notify()
}
