package shard

import (
	"context"
	"math"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/line"
)

// takeAndLock returns the shard locked if it has taken an entry, so that the
// caller can read the item.
func (s *Core) takeAndLock(lane *lane, now uint64) (sh *shard, e *items.Entry, priority int, h Handle) {
	fresh := false // whether the clock was read since a group had no token
	for {
		passedOver := false
		if p := s.shards.priorities.Load(); lane == nil {
			sh = s.shard(0)
			if !sh.tryLock() {
				sh.lockSlowly()
			}
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

// unlockTaken unlocks a shard after a take, and makes its reports. A panic of
// the clock does not reach the caller, which has items.
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
	if t := sh.table.times; t != nil {
		t.start(&sh.table.Table, id, e)
	}
	return Handle{fence, id, sh.number}
}

// A receiver gets what a take hands out, under the lock of its shard.
type receiver func(e *items.Entry, priority int, h Handle)

func (s *Core) takeSome(most int, put receiver) (n int) {
	s.refreshForWork()
	if n = s.takeHere(most, put, s.gate.readForTake()); n > 0 {
		s.watchdog.begin()
	}
	return n
}

// takeHere takes one item after the other. Several of a plain line are taken in
// one hold, as far as its turn goes.
func (s *Core) takeHere(most int, put receiver, now uint64) (n int) {
	if s.gate.cares.Load()&caresForGate != 0 {
		return s.takeThroughGate(most, put, now)
	}
	lane := s.shards.laneIfMany() // once: at another depth of the stack it may be another
	for n < most {
		sh, e, priority, h := s.takeAndLock(lane, now)
		if e == nil {
			break
		}
		put(e, priority, h)
		n += 1 + sh.takeMore(lane, min(most-n, batchSize)-1, put)
		sh.unlockTaken()
	}
	return n
}

func (sh *shard) takeMore(lane *lane, most int, put receiver) (n int) {
	for sh.line.IsPlain() && n < most && (lane == nil || sh.served%quantum != 0) {
		e, priority, h, _ := sh.take(lane, false, 0, false)
		if e == nil {
			break
		}
		put(e, priority, h)
		n++
	}
	return n
}

func (s *Core) takeThroughGate(most int, put receiver, now uint64) (n int) {
	s.gate.entered.Add(1)
	defer func() {
		s.gate.entered.Add(-1)
		s.drains.recheck(&s.closing)
		s.afterGate()
	}()
	for ; n < most && s.anyReady() && s.gate.enter(now); n++ {
		sh, e, priority, h := s.takeAndLock(s.shards.laneIfMany(), now)
		if e == nil {
			s.gate.giveBack()
			break
		}
		put(e, priority, h)
		sh.unlockTaken()
	}
	return n
}

// await asks for the end of ctx only when it is about to wait.
func (s *Core) await(ctx context.Context, most int, put receiver) (n int, shutdown, canceled bool) {
	for {
		before, _ := s.throttled.read()
		closed := s.mayLeave() // before taking: see closing
		if n := s.takeSome(most, put); n > 0 {
			return n, false, false
		}
		// No group was throttled or freed since, so takeSome has seen all that
		// was ready, except what is behind a closed gate, which may have changed.
		if closed && s.throttled.noneSince(before) && s.mayLeave() {
			return 0, true, false
		}
		switch s.park(ctx.Done()) {
		case withdrawn:
		case canceledParked:
			return 0, false, true
		case searcher:
			if n := s.search(most, put); n > 0 {
				return n, false, false
			}
		}
	}
}

// search passes the token on even if reading the clock panics.
func (s *Core) search(most int, put receiver) (n int) {
	defer s.passOn()
	return s.takeSome(most, put)
}
