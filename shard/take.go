package shard

import "math"

// takeNow calls no user code. now is a reading of the clock, if groups have
// rates.
func (s *Set[T]) takeNow(now uint64) (item T, priority int, h Handle, ok bool) {
	if s.config.Group != nil {
		return s.takeRoundRobin(now)
	}
	if len(s.shards) == 1 {
		sh := s.shard(0)
		sh.mu.Lock()
		item, priority, h, ok = sh.take(&sh.ready, false)
		sh.mu.Unlock()
		return item, priority, h, ok
	}
	lane, p := s.lane(), s.priorityBitmap.Load()
	for {
		var sh *shard[T]
		passedOver := false
		if p == nil {
			sh = s.lockReady(lane.turn.Load())
		} else {
			sh, passedOver = s.lockByPriority(p, lane)
		}
		if sh == nil {
			return item, 0, Handle{}, false
		}
		if sh.served++; sh.served%quantum == 0 {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		item, priority, h, ok = sh.take(&sh.ready, passedOver)
		sh.mu.Unlock()
		if ok {
			return item, priority, h, true
		}
		// Another consumer emptied the shard before it was locked.
	}
}

// If passedOver is true, take takes from the level that was passed over
// longest.
func (sh *shard[T]) take(q *runQueue[T], passedOver bool) (item T, priority int, h Handle, ok bool) {
	if q.isEmpty() {
		return item, 0, h, false
	}
	var id uint32
	var e *entry[T]
	if sh.groups != nil || q.levels != nil {
		id, e, priority = q.take(sh.table, passedOver)
		sh.pulled(q, id, q.isEmpty())
	} else if id, e = q.pop(sh.table); q.isEmpty() { // by hand, as in push
		sh.set.markEmpty(sh.number)
	}
	q.processing++
	sh.fruitless = 0
	fence := sh.fence()
	e.step(taken)
	e.fence = uint32(fence)
	if fence > math.MaxUint32 {
		sh.table.setUpperFence(id, uint32(fence>>32))
	}
	sh.table.times.onStart(&sh.table.slab, id, e)
	return e.item, priority, Handle{fence, id, sh.number}, true
}
