package coalesce

import "github.com/shardq/shardq/shard"

// Cancel takes the pending value of key back, and reports whether there was
// one. It leaves a value that a worker has, that another call is merging or
// giving back, or that a ClaimBatch has begun to take. If values could not be
// merged, each Cancel returns one. Cancel also works after a shutdown.
func (c *Coalescer[K, V]) Cancel(key K) (value V, ok bool) {
	x := canceler[K, V]{c: c, stripe: c.stripeOf(key), key: key}
	c.shards.SetAddress(&x.address, key)
	return x.cancel()
}

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
	if s.lines[x.key] != nil {
		x.finishAndUnlock()
		return value, true
	}
	s.mu.Unlock()
	canceled := false
	defer func() {
		s.mu.Lock()
		if !canceled { // a hook has panicked
			x.c.restoreLocked(s, x.key, value, x.weight)
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
	rest := l.first
	if rest == nil {
		x.stripe.removeLocked(x.key, l)
		x.c.limit.Release(weight)
		return value
	}
	x.c.releaseTakenLocked(rest, weight)
	if l.key == absent && rest.merging {
		rest.reserved = true // the call that merges it adds the key
	}
	return value
}

// finishAndUnlock makes the key ready if it has values and no delay is running:
// a Take may have come for them, or the queue may have canceled what a Put asked
// for that ran at the same time.
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
