package shard

// await makes a group wait for a tick. Waiting groups form a heap by deadlines,
// not a timing wheel, because deadlines also follow a clock that was set back.
func (sh *shard[T]) await(id uint32, b *groupBucket, deadline uint64) {
	g := sh.groups
	switch {
	case deadline == never && b.place == 0:
		return
	case deadline == never:
		g.stopWaiting(b)
	case b.place == 0:
		g.waiting = append(g.waiting, id)
		b.deadline, b.place = deadline, int32(len(g.waiting))
		g.rise(b)
	default:
		b.deadline = deadline
		g.rise(b)
		g.sink(b)
	}
	sh.publishWait()
}

// publishWait publishes the first deadline, apart from the shard's next,
// because a shutdown ends delays, but not waits. If the timer may be later, the
// driver must be told once the lock is released: see regrouped.
func (sh *shard[T]) publishWait() {
	g, next := sh.groups, uint64(never)
	if len(g.waiting) > 0 {
		next = g.buckets.At(g.waiting[0]).deadline
	}
	sh.set.waits[sh.number].Store(next)
	if next < sh.set.driver.armed.Load() {
		g.filed = true
	}
}

// regrouped returns the effect of waits filed in this hold of the lock.
func (sh *shard[T]) regrouped() effects {
	if g := sh.groups; g != nil && g.filed {
		g.filed = false
		return files
	}
	return 0
}

func (s *Set[T]) endWaits(sh *shard[T], at reading) effects {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	fx := effects(0)
	for range stepsPerHold {
		g := sh.groups
		if g == nil || len(g.waiting) == 0 || g.buckets.At(g.waiting[0]).deadline > at.now {
			break
		}
		// The next deadline is later than this reading: each is reviewed once.
		if sh.review(g.waiting[0], at.nanoseconds) {
			fx |= wakes
		}
	}
	sh.regrouped() // the caller is the driver
	return fx
}

func (s *Set[T]) earliestWait() uint64 {
	earliest := s.gate.opens.Load()
	for i := range s.waits {
		earliest = min(earliest, s.waits[i].Load())
	}
	return earliest
}

// endWaitsDue opens the gate, too, and reports whether any wait was over.
func (s *Set[T]) endWaitsDue(at reading) (any bool) {
	for i := range s.waits {
		if s.waits[i].Load() <= at.now {
			any = true
			s.publish(s.endWaits(s.shard(i), at))
		}
	}
	if opens := s.gate.opens.Load(); opens <= at.now && s.gate.opens.CompareAndSwap(opens, never) {
		any = true
		s.wake()
	}
	return any
}

func (g *groups[T]) stopWaiting(b *groupBucket) {
	last := g.buckets.At(g.waiting[len(g.waiting)-1])
	g.swap(b, last)
	g.waiting = g.waiting[:len(g.waiting)-1]
	b.place = 0
	if b != last {
		g.rise(last)
		g.sink(last)
	}
	if cap(g.waiting) > 64 && len(g.waiting) < cap(g.waiting)/4 {
		g.waiting = append(make([]uint32, 0, cap(g.waiting)/2), g.waiting...)
	}
}

func (g *groups[T]) waiter(place int32) *groupBucket { return g.buckets.At(g.waiting[place-1]) }

func (g *groups[T]) rise(b *groupBucket) {
	for b.place > 1 && g.waiter(b.place/2).deadline > b.deadline {
		g.swap(b, g.waiter(b.place/2))
	}
}

func (g *groups[T]) sink(b *groupBucket) {
	for last := int32(len(g.waiting)); 2*b.place <= last; {
		child := g.waiter(2 * b.place)
		if child.place < last && g.waiter(child.place+1).deadline < child.deadline {
			child = g.waiter(child.place + 1)
		}
		if child.deadline >= b.deadline {
			return
		}
		g.swap(b, child)
	}
}

func (g *groups[T]) swap(a, b *groupBucket) {
	g.waiting[a.place-1], g.waiting[b.place-1] = g.waiting[b.place-1], g.waiting[a.place-1]
	a.place, b.place = b.place, a.place
}
