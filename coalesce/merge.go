package coalesce

// The methods that end in Locked are called with the lock of the stripe, and
// return with it. They release it while user code runs. If that panics or ends
// the goroutine, they call a function of their caller before they unwind.

// mergeAllLocked merges the segments after the first into it, so that a Take
// gets them together. It leaves those that other calls are merging. If user
// code panics, it calls failed with no lock held. The segments are as before
// then.
func (c *Coalescer[K, V]) mergeAllLocked(s *stripe[K, V], l *line[V], failed func()) {
	// The caller has the key, so a Drain that drops its delay leaves the line
	// alone.
	s.setStateLocked(l, queued)
	c.mergeRestLocked(s, l, func() {
		s.mu.Unlock()
		c.limit.Notify()
		failed()
	})
}

// mergeRestLocked is mergeAllLocked that leaves the state of the key alone. If
// user code panics, it calls failAndUnlock with the lock held.
func (c *Coalescer[K, V]) mergeRestLocked(s *stripe[K, V], l *line[V], failAndUnlock func()) {
	first := l.first
	for n := l.length(); n > 1; n-- { // not those that are put meanwhile, or it might not end
		if next := first.next; next == nil || next.merging || next.mergeFailed {
			return
		}
		c.mergeNextLocked(s, l, first, failAndUnlock)
	}
}

// mergeNextLocked merges the segment after left into left, as mergeLocked does.
// If user code panics, both are as before, and no call tries again.
func (c *Coalescer[K, V]) mergeNextLocked(s *stripe[K, V], l *line[V], left *segment[V], failAndUnlock func()) {
	right := left.next // it stays in the line, so that Peek finds it
	right.merging = true
	c.mergeLocked(s, left, right.value, right.weight, func() {
		right.merging, right.mergeFailed = false, true
		failAndUnlock()
	})
	*l.unlinkNext(left) = segment[V]{} // it may be inline, and must not refer to the value
}

// mergeLocked merges next, which has this weight, into the value of a mergeable
// segment. If user code panics or ends the goroutine, the segment is as before,
// and mergeLocked calls failAndUnlock, which releases the lock.
func (c *Coalescer[K, V]) mergeLocked(s *stripe[K, V], into *segment[V], next V, weight int64, failAndUnlock func()) {
	pending, returned := into.value, false
	into.merging = true
	s.mu.Unlock()
	defer func() {
		if !returned {
			s.mu.Lock()
			into.merging = false
			failAndUnlock()
		}
	}()
	merged := c.merge(pending, next)
	mergedWeight := c.weightOf(merged)
	returned = true
	s.mu.Lock()
	into.value, into.merging = merged, false
	into.weight += weight // not before: removeAndUnlock may have added the weight of the key meanwhile
	if c.weigh != nil {
		c.resize(mergedWeight - into.weight)
		into.weight = mergedWeight
	}
}

// resize changes the weight held. The caller must call Notify afterwards.
func (c *Coalescer[K, V]) resize(change int64) {
	if change > 0 {
		c.limit.ForceAcquire(change)
	} else if change < 0 {
		c.limit.Release(-change)
	}
}
