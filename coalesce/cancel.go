package coalesce

// Cancel takes the pending value of key back, and reports whether there was
// one. It does not take a value that a worker has, that another call is merging
// or giving back, or that a ClaimBatch has begun to take. If Merge has
// panicked, a key may have several values, and each Cancel returns one. Cancel
// also works after a shutdown.
func (c *Coalescer[K, V]) Cancel(key K) (value V, ok bool) {
	x := canceler[K, V]{teller: teller[K, V]{c: c, stripe: c.stripeOf(key), key: key}}
	c.shards.SetAddress(&x.address, key)
	return x.cancel()
}

type canceler[K comparable, V any] struct {
	teller[K, V]
	weight int64 // of the value
}

func (x *canceler[K, V]) cancel() (value V, ok bool) {
	s := x.stripe
	s.mu.Lock()
	l := s.lines[x.key]
	if l.isEmpty() || l.first.merging || l.first.taking {
		s.mu.Unlock()
		return value, false
	}
	if x.uncounted = s.closed; !s.closed {
		s.admitted++
		if x.c.mergeRestLocked(s, l, x.readdAndUnlock); l.first.taking { // a value was given back meanwhile
			x.leaveAndUnlock()
			return value, false
		}
	} else if l.tells > 0 || l.first.next != nil { // the queue might refuse the key of what is left
		value = x.takeLocked(l)
		x.leaveAndUnlock()
		return value, true
	}
	alone := l.tells == 0 && l.first.next == nil
	if alone {
		l.tells = 1 // so that the line stays
	}
	value = x.takeLocked(l)
	if !alone { // the last teller cancels the key, if there is one
		x.readdAndUnlock()
		return value, true
	}
	s.mu.Unlock()
	canceled := false
	defer func() {
		if !canceled { // a hook has panicked, perhaps in what was told for another call
			x.restore(value)
		}
	}()
	func() {
		defer x.cleaned(l) // also if a hook panics
		x.c.shards.CancelTo(x.key, x.address)
	}()
	canceled = true
	return value, true
}

func (x *canceler[K, V]) restore(value V) {
	s := x.stripe
	s.mu.Lock()
	if x.uncounted = s.closed; !s.closed {
		s.admitted++
	}
	x.c.restoreLocked(s, x.key, value, x.weight)
	x.readdAndUnlock()
}

func (x *canceler[K, V]) takeLocked(l *line[V]) V {
	value, weight := l.removeFirst()
	x.weight = weight
	rest := l.first
	if rest == nil {
		x.stripe.emptiedLocked(x.key, l)
		x.c.limit.Release(weight)
		return value
	}
	x.c.releaseTakenLocked(rest, weight)
	if l.key == absent && rest.merging {
		rest.reserved = true // the call that merges it adds the key
	}
	return value
}
