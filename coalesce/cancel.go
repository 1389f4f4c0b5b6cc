package coalesce

import "github.com/shardq/shardq/shard"

// Cancel takes the pending value of key back, and reports whether there was
// one. The value is the caller's: no Take returns it. A worker that has the key
// goes on.
//
// Like a Take, Cancel leaves the value that another call is merging, and those
// after it. It also leaves a value that a TakeBatch has begun to take, or that
// another call is giving back. If user code panics in a Cancel, the value is
// still pending, and may be ready early.
//
// Cancel works after a shutdown as well. Then a worker must still take the key
// from the queue, and does not notice. If values could not be merged, each
// Cancel returns one.
func (c *Coalescer[K, V]) Cancel(key K) (value V, ok bool) {
	x := canceler[K, V]{c: c, stripe: c.stripeOf(key), key: key}
	c.shards.SetAddress(&x.address, key)
	return x.cancel()
}

// A canceler is a Cancel in progress.
type canceler[K comparable, V any] struct {
	c       *Coalescer[K, V]
	stripe  *stripe[K, V]
	key     K
	address shard.Address
	weight  int64 // of the value
}

func (x *canceler[K, V]) cancel() (value V, ok bool) {
	s := x.stripe
	s.mu.Lock()
	l := s.lines[x.key]
	if l == nil || l.first.merging || l.first.taking {
		s.mu.Unlock()
		return value, false
	}
	if s.closed { // the queue might refuse the key of what is left
		value = x.takeLocked(l)
		s.mu.Unlock()
		x.c.limit.Notify()
		return value, true
	}
	s.admitted++
	x.c.mergeRestLocked(s, l, x.finishAndUnlock)
	value = x.takeLocked(l)
	left := s.lines[x.key] != nil
	if left {
		x.finishAndUnlock()
		return value, true
	}
	s.mu.Unlock()
	canceled := false
	defer func() {
		s.mu.Lock()
		if !canceled { // a hook has panicked
			x.restoreLocked(value)
		}
		x.finishAndUnlock()
	}()
	x.c.shards.CancelTo(x.key, x.address)
	canceled = true
	return value, true
}

func (x *canceler[K, V]) takeLocked(l *line[V]) V {
	value, weight := l.removeFirst()
	x.weight = weight
	switch rest := l.first; {
	case rest == nil:
		x.stripe.removeLocked(x.key, l)
		x.c.limit.Release(weight)
	default:
		x.c.releaseTakenLocked(rest, weight)
		if l.key == absent && rest.merging {
			rest.reserved = true // the call that merges it adds the key
		}
	}
	return value
}

// restoreLocked makes the value the oldest of its key again.
func (x *canceler[K, V]) restoreLocked(value V) {
	l, weight := x.stripe.lines[x.key], x.weight
	if l == nil {
		l = x.stripe.insertLocked(x.key)
	} else if x.c.weigh == nil {
		weight = 0 // the key has its room
	}
	if weight > 0 {
		x.c.limit.ForceAcquire(weight)
	}
	l.prepend(value, weight)
}

// finishAndUnlock ends a Cancel, and releases the lock. It makes the key ready
// if it has values and no delay is running: a Take may have come for them, or
// the queue may have canceled what a Put asked for that ran at the same time.
func (x *canceler[K, V]) finishAndUnlock() {
	l := x.stripe.lines[x.key]
	if l == nil || l.key == absent && l.first.merging {
		x.c.leaveAndUnlock(x.stripe)
		return
	}
	if l.key == absent {
		x.stripe.setStateLocked(l, queued)
	}
	x.stripe.mu.Unlock()
	defer x.c.leave(x.stripe)
	x.c.shards.AddTo(x.key, &x.address, true)
}
