package coalesce

import "github.com/shardq/shardq/shard"

// Cancel takes the pending value of key back, and reports whether there was one. A value
// that a worker has stays with the worker, and does not go back if it fails. The failures
// of key are forgotten. Cancel takes no value that another call is merging, or that a
// ClaimBatch has begun to take. If Merge has panicked, or a value came back after a
// shutdown, a key may have several values, and each Cancel returns one.
func (c *Coalescer[K, V]) Cancel(key K) (value V, ok bool) {
	x := c.cancelerOf(key, nil)
	defer c.queue.Forget(key)
	defer c.shards.Core.ReportChanges()
	if value, ok = x.cancel(); ok {
		x.taken.mark.finish()
	}
	return value, ok
}

// dropOnly takes the values of keys out if they are of one source alone.
func (c *Coalescer[K, V]) dropOnly(dropped *[]Entry[K, V], keys []K, only *ledger) {
	cancelers := make([]canceler[K, V], len(keys))
	for i, key := range keys {
		cancelers[i] = c.cancelerOf(key, only) // Hash may panic: nothing is out yet
	}
	for i, key := range keys {
		for value, ok := cancelers[i].cancel(); ok; value, ok = cancelers[i].cancel() {
			*dropped = append(*dropped, Entry[K, V]{key, value})
			c.queue.Forget(key)
		}
	}
}

type canceler[K comparable, V any] struct {
	teller[K, V]
	taken segment[V] // with the value
	only  *ledger    // whose Drop it is, or nil
}

func (c *Coalescer[K, V]) cancelerOf(key K, only *ledger) (x canceler[K, V]) {
	x = canceler[K, V]{teller: teller[K, V]{c: c, stripe: c.stripeOf(key), key: key}, only: only}
	c.shards.SetAddress(&x.address, key)
	return x
}

func (x *canceler[K, V]) cancel() (value V, ok bool) {
	s := x.stripe
	s.mu.Lock()
	l := s.lines[x.key]
	if l.isEmpty() || l.first.merging || l.first.taking || x.only != nil && !l.isOnlyOf(x.only) {
		if !l.isEmpty() && x.only == nil {
			l.seal()
		}
		x.cancelRunLocked()
		s.mu.Unlock()
		return value, false
	}
	if x.uncounted = s.closed; !s.closed {
		s.admitted++
		for first := (*segment[V])(nil); x.only == nil && first != l.first && !l.first.taking; { // a value may be given back meanwhile
			first = l.first
			first.returning = false // it is this call's now
			x.c.mergeRestLocked(s, l, false, x.readdAndUnlock)
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
			x.restore()
		}
	}()
	func() {
		defer x.cleaned(l) // also if a hook panics
		x.c.shards.Withdraw(x.key, &x.address)
	}()
	canceled = true
	return value, true
}

func (x *canceler[K, V]) restore() {
	s := x.stripe
	s.mu.Lock()
	if x.uncounted = s.closed; !s.closed {
		s.admitted++
	}
	x.c.restoreLocked(s, x.key, x.taken.value, x.taken.weight, x.taken.priority, x.taken.mark)
	x.readdAndUnlock()
}

func (x *canceler[K, V]) takeLocked(l *line[V]) V {
	x.taken = l.removeFirst()
	if rest := l.first; rest != nil {
		x.c.releaseTakenLocked(rest, x.taken.weight)
		return x.taken.value
	}
	x.stripe.emptiedLocked(x.key, l)
	x.c.limit.Release(x.taken.weight)
	return x.taken.value
}

// cancelRunLocked cancels the processing of the key after what was pending is out.
// It releases the lock, because locks are leaves. A Take that comes meanwhile may
// be canceled as well, for a value that was put beside the Cancel.
func (x *canceler[K, V]) cancelRunLocked() {
	if x.only != nil {
		return // the worker keeps its value
	}
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
