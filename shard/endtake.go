package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
)

// EndTake is [Set.DoneAt] of the processing that h names, and then
// [Set.TryTake] in the same hold of the shard's lock. It takes an item only if
// it is the turn of this shard, from which a Get would take, too. Otherwise the
// caller takes as usual. So a worker takes the lock once for each item, and
// contends half as often for a single shard.
func (s *Set[T]) EndTake(h Handle) (item T, priority int, next Handle, ended, ok bool) {
	s.Core.refreshOr(func() { s.Core.endNow(h) })
	sh, e, priority, next, fx := s.Core.endTake(h)
	if e == nil {
		s.Core.after(fx)
		return item, 0, next, fx&took != 0, false
	}
	item = *items.Of[T](e)
	sh.unlockTaken()
	defer func() {
		if !ok { // a hook has panicked
			s.Core.Release(next, priority)
		}
	}()
	s.Core.after(fx)
	s.Core.watchdog.begin()
	return item, priority, next, fx&took != 0, true
}

// endTake returns the shard locked if it has taken an entry.
func (s *Core) endTake(h Handle) (sh *shard, e *items.Entry, priority int, next Handle, fx effects) {
	sh = s.shard(int(h.shard))
	if !sh.tryLock() {
		sh.lockSlowly()
	}
	fx = sh.endClaimed(h)
	if fx&took != 0 && s.gate.cares.Load()&^caresForAges == 0 {
		e, priority, next = s.takeOn(sh)
	}
	if e == nil {
		sh.unlock()
	}
	return sh, e, priority, next, fx
}

// takeOn takes from a locked shard, if a consumer of this lane would do so, too.
func (s *Core) takeOn(sh *shard) (e *items.Entry, priority int, h Handle) {
	lane := s.shards.laneIfMany()
	if lane != nil && (lane.turn.Load() != uint32(sh.number) || s.shards.priorities.Load() != nil) {
		return nil, 0, h
	}
	e, priority, h, _ = sh.take(lane, false, 0, false)
	return e, priority, h
}
