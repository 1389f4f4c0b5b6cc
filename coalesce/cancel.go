package coalesce

import "github.com/shardq/shardq/shard"

// Cancel takes the pending value of key back, and reports whether there was
// one. A worker keeps a value that it has, but that does not go back if it
// fails. The failures of key are forgotten. Cancel takes no value that another
// call is merging, or that a ClaimBatch has begun to take. If Merge has panicked,
// a key may have several values, and each Cancel returns one. Cancel also works
// after a shutdown.
func (c *Coalescer[K, V]) Cancel(key K) (value V, ok bool) {
	x := canceler[K, V]{teller: teller[K, V]{c: c, stripe: c.stripeOf(key), key: key}}
	c.shards.SetAddress(&x.address, key)
	defer c.queue.Forget(key)
	defer c.shards.Core.ReportChanges()
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
		x.cancelRunLocked()
		s.mu.Unlock()
		return value, false
	}
	if x.uncounted = s.closed; !s.closed {
		s.admitted++
		for first := (*segment[V])(nil); first != l.first && !l.first.taking; { // a value may be given back meanwhile
			first = l.first
			first.returning = false // it is this call's now
			x.c.mergeRestLocked(s, l, x.readdAndUnlock)
		}
		if l.first.taking {
			x.cancelRunLocked()
			x.leaveAndUnlock()
			return value, false
		}
	} else if l.tells > 0 || l.first.next != nil { // the queue might refuse the key of what is left
		value = x.takeLocked(l)
		x.cancelRunLocked()
		x.leaveAndUnlock()
		return value, true
	}
	alone := l.tells == 0 && l.first.next == nil
	if alone {
		l.tells = 1 // so that the line stays
	}
	value = x.takeLocked(l)
	x.cancelRunLocked()
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
		x.c.shards.Withdraw(x.key, &x.address)
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
	if rest := l.first; rest != nil {
		x.c.releaseTakenLocked(rest, weight)
		return value
	}
	x.stripe.emptiedLocked(x.key, l)
	x.c.limit.Release(weight)
	return value
}

// cancelRunLocked cancels the processing of the key after what was pending is out.
// It releases the lock, because locks are leaves. A Take that comes meanwhile may
// be canceled as well, for a value that was put beside the Cancel.
func (x *canceler[K, V]) cancelRunLocked() {
	s := x.stripe
	e := s.needExtras()
	e.canceling[x.key]++
	s.mu.Unlock()
	x.c.shards.CancelRun(x.key, &x.address)
	s.mu.Lock()
	e.cancels++
	if e.canceling[x.key]--; e.canceling[x.key] == 0 {
		delete(e.canceling, x.key)
	}
}

// beginRunLocked is lineToTakeLocked that takes Cancels back which came after the
// hand-out of the key: nobody has its value yet.
func (c *Coalescer[K, V]) beginRunLocked(s *stripe[K, V], key K, at shard.Handle) (l *line[V]) {
	l = c.lineToTakeLocked(s, key, at)
	for seen := uint64(0); s.extras != nil && s.extras.cancels != seen; l = c.lineToTakeLocked(s, key, at) {
		seen = s.extras.cancels
		s.mu.Unlock()
		c.shards.Core.KeepRun(at)
		s.mu.Lock()
	}
	return l
}
