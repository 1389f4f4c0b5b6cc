package shard

import (
	"context"
	"math"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/line"
)

// Take is [Set.GetContext] with the item's priority and Handle.
func (s *Set[T]) Take(ctx context.Context) (item T, priority int, h Handle, err error) {
	if err := ctx.Err(); err != nil {
		return item, 0, Handle{}, err
	}
	if item, priority, h, ok := s.TryTake(); ok {
		return item, priority, h, nil
	}
	return s.awaitOne(ctx)
}

// awaitOne is apart, because its closure would keep what Take returns in memory.
func (s *Set[T]) awaitOne(ctx context.Context) (item T, priority int, h Handle, err error) {
	_, err = s.Core.awaitContext(ctx, 1, func(e *items.Entry, its int, handle Handle) {
		item, priority, h = *items.Of[T](e), its, handle
	})
	return item, priority, h, err
}

// TryTake is [Set.Take] without blocking.
func (s *Set[T]) TryTake() (item T, priority int, h Handle, ok bool) {
	if s.Core.gate.cares.Load() != 0 {
		return s.tryTakeWithCare()
	}
	return s.takeNow(0)
}

func (s *Set[T]) tryTakeWithCare() (item T, priority int, h Handle, ok bool) {
	if s.Core.config.Ages {
		s.Core.refreshForWork()
	}
	now := s.Core.gate.readForTake()
	if s.Core.gate.cares.Load()&caresForGate != 0 {
		return s.takeOneThroughGate(now)
	}
	if item, priority, h, ok = s.takeNow(now); ok {
		s.Core.watchdog.begin()
	}
	return item, priority, h, ok
}

func (s *Set[T]) takeOneThroughGate(now uint64) (item T, priority int, h Handle, ok bool) {
	ok = s.Core.takeThroughGate(1, func(e *items.Entry, its int, handle Handle) {
		item, priority, h = *items.Of[T](e), its, handle
	}, now) > 0
	if ok {
		s.Core.watchdog.begin()
	}
	return item, priority, h, ok
}

// takeNow calls no user code but the clock. now is the time, if groups have rates.
func (s *Set[T]) takeNow(now uint64) (item T, priority int, h Handle, ok bool) {
	sh, e, priority, h := s.Core.takeAndLock(now)
	if e == nil {
		return item, 0, h, false
	}
	item = *items.Of[T](e)
	if sh.owes == 0 { // as unlockTaken, but without the call
		sh.unlock()
	} else {
		sh.unlockTaken()
	}
	return item, priority, h, true
}

// takeAndLock keeps the shard of an entry that it has taken locked, so that its
// item can be read.
func (s *Core) takeAndLock(now uint64) (sh *shard, e *items.Entry, priority int, h Handle) {
	lane, fresh := s.shards.laneIfMany(), false // whether the clock was read since a group had no token
	for {
		passedOver := false
		if p := s.shards.priorities.Load(); lane == nil {
			sh = s.shard(0)
			sh.lock()
		} else if p == nil {
			sh = s.shards.lockReady(lane.turn.Load())
		} else {
			sh, passedOver = s.shards.lockByPriority(p, lane)
		}
		if sh == nil {
			return nil, nil, 0, Handle{}
		}
		if now == 0 && sh.line.NeedsTime() {
			sh.unlock() // the line got its first rate since the take began
			now = s.gate.readForRate()
			continue
		}
		var out line.Outcome
		if e, priority, h, out = sh.take(lane, passedOver, now, fresh); e != nil {
			return sh, e, priority, h
		}
		sh.unlockTaken()
		switch {
		case out == line.NoToken && !fresh:
			now, fresh = s.gate.readForRate(), true
		case out == line.NoToken:
			fresh = false
		case lane == nil:
			return nil, nil, 0, Handle{}
		}
		// Or another consumer emptied the shard before it was locked.
	}
}

// unlockTaken spares the caller, which has items, a panic of the clock.
func (sh *shard) unlockTaken() {
	due := effects(0)
	if sh.owes != 0 {
		due = sh.reportsDue()
	}
	sh.unlock()
	if due != 0 {
		sh.set.settle(due)
	}
}

func (sh *shard) take(lane *lane, passedOver bool, now uint64, fresh bool) (e *items.Entry, priority int, h Handle, out line.Outcome) {
	var id uint32
	if !sh.line.IsPlain() {
		id, e, priority, out = sh.line.Take(&sh.table.Table, passedOver, now, fresh)
		if sh.show(); e == nil {
			return nil, 0, h, out
		}
	} else if sh.line.IsEmpty() {
		return nil, 0, h, line.Nothing
	} else {
		id, e = sh.line.Pop(&sh.table.Table)
		if out = line.Took; sh.line.IsEmpty() {
			sh.set.shards.ready.Clear(sh.number)
		}
	}
	sh.countTake(lane, out)
	return e, priority, sh.start(id, e), out
}

// countTake moves the lane on after the shard's turn: a round of the groups, or
// quantum items.
func (sh *shard) countTake(lane *lane, out line.Outcome) {
	if lane == nil {
		return // there is one shard
	}
	if out == line.Took {
		sh.served++
	}
	if out == line.TurnOver || out == line.Took && sh.served%quantum == 0 {
		lane.turn.Store((uint32(sh.number) + 1) % uint32(len(sh.set.shards.all)))
	}
}

func (sh *shard) start(id uint32, e *items.Entry) Handle {
	sh.fruitless = 0
	fence := sh.fence()
	e.Step(items.Taken)
	e.Fence = uint32(fence)
	if fence > math.MaxUint32 {
		sh.table.SetUpperFence(id, uint32(fence>>32))
	}
	sh.table.times.onStart(&sh.table.Table, id, e)
	return Handle{fence, id, sh.number}
}
