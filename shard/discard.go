package shard

// discardReady drops all ready items, and counts them as dropped. Dirty items
// are dropped by their Done. A worker that asks for the next item then learns of
// the shutdown at once, however many items there were.
func (s *Set[T]) discardReady() {
	s.closing.discarding.Store(true)
	for sh := range s.made() {
		for s.discardSome(sh) {
		}
	}
	s.wake() // a consumer may wait for a throttled group
}

// discardSome drops some ready items of a shard. It reports whether there may
// be more.
func (s *Set[T]) discardSome(sh *shard[T]) (more bool) {
	var ids [stepsPerHold]uint32
	n := 0
	sh.mu.Lock()
	if sh.table != nil {
		sh.walkReady(func(id uint32) (on bool) {
			ids[n] = id
			n++
			return n < len(ids)
		})
	}
	for _, id := range ids[:n] {
		sh.discard(id, sh.table.at(id))
	}
	due := sh.reportsDue()
	sh.mu.Unlock()
	s.settle(due)
	s.notify()
	return n == len(ids)
}

// discard drops an item that is ready or dirty. If it is ready, the queue
// forgets it.
func (sh *shard[T]) discard(id uint32, e *entry[T]) {
	what := e.step(canceled)
	sh.leftLine(id, e)
	sh.table.times.onCancel(id, what)
	sh.rare.dropped++
	if what == withdraw {
		sh.pull(id, e)
		sh.forget(id, e, position{})
	}
}
