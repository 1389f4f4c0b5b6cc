package shard

import (
	"time"

	"github.com/shardq/shardq/timerwheel"
)

// AddAfter adds item once duration has passed on the queue's clock: at the first
// tick at or after that, never before. It adds at once if duration is zero or less.
// Of several delays of one item the one that ends first counts, and adds it once.
// After a shutdown began, AddAfter drops the item.
func (s *Set[T]) AddAfter(item T, duration time.Duration) {
	if duration <= 0 {
		s.Add(item)
		return
	}
	if s.mayDiffer && s.Reject(item) {
		return
	}
	hash := s.hash(item)
	sh := s.shardOf(item, hash)
	now, deadline := s.time.deadline(duration)
	for !s.delay(sh, item, uint32(hash), s.driver.taken(now), deadline) {
		// The wheel stands at or after the deadline. As a rule the clock got
		// there too since it was read.
		now = s.time.now()
		if now >= deadline {
			s.addOverdue(sh, item, uint32(hash))
			return
		}
		// It did not: it was set back. Then so is the wheel, lest the item
		// become ready early.
		sh.rewind(now)
		s.driver.poke()
	}
}

// addOverdue adds an item whose deadline passed while AddAfter was on its way. A
// later deadline of the item's is void: of several, the first counts, once.
func (s *Set[T]) addOverdue(sh *shard[T], item T, hash uint32) {
	sh.mu.Lock()
	outcome := sh.addLocked(item, hash, true)
	if outcome != ignore {
		sh.rare.fired++
	}
	sh.mu.Unlock()
	if outcome == enqueue {
		s.wake()
	}
}

// delay makes item wait until the deadline. It reports false if that is not after
// the time of the shard's wheel.
func (s *Set[T]) delay(sh *shard[T], item T, hash uint32, at reading, deadline uint64) (ok bool) {
	sh.mu.Lock()
	if s.closing.begun.Load() {
		sh.rare.dropped++
		sh.mu.Unlock()
		return true
	}
	if sh.wheel == nil {
		sh.wheel = timerwheel.New(at.now)
	}
	if deadline <= sh.wheel.Now() {
		sh.mu.Unlock()
		return false
	}
	sh.wait(item, hash, deadline)
	sh.filed(at)
	sh.mu.Unlock()
	if deadline < s.driver.armed.Load() {
		s.driver.poke()
	}
	return true
}

// wait files the item's timer, unless an earlier one is filed.
func (sh *shard[T]) wait(item T, hash uint32, deadline uint64) {
	id, e := sh.entryFor(item, hash)
	if e.waiting {
		if filed, _ := sh.wheel.Deadline(id); filed <= deadline {
			return
		}
	}
	e.waiting = true
	sh.wheel.Schedule(id, deadline)
	if deadline < sh.next.Load() {
		sh.next.Store(deadline)
	}
}

// stopWaiting cancels the item's timer. The driver may still wake for it once.
func (sh *shard[T]) stopWaiting(id uint32, e *entry[T]) {
	e.waiting = false
	sh.wheel.Cancel(id)
}

// fire is called by the wheel, under the shard's lock, for an item whose delay has
// ended.
func (sh *shard[T]) fire(id uint32) {
	e := sh.table.at(id)
	e.waiting = false
	sh.rare.fired++
	sh.apply(id, e)
}

// stepsPerHold bounds how long expire keeps a shard's lock: a tenth of a millisecond or
// less, as a rule, whatever the number of timers due.
const stepsPerHold = 128

// expire makes items ready whose deadlines have passed, up to a bound, and reports
// whether any became so.
func (sh *shard[T]) expire(at reading) (queued bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.wheel == nil || sh.set.closing.begun.Load() {
		sh.next.Store(never)
		return false
	}
	before := sh.fifo.length
	sh.wheel.Advance(sh.safe(at), stepsPerHold, sh.fire)
	sh.publishNext()
	return sh.fifo.length > before
}

// rewind sets the shard's wheel back.
func (sh *shard[T]) rewind(now uint64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.wheel != nil {
		sh.wheel.Rewind(now)
		sh.publishNext()
	}
}

func (sh *shard[T]) publishNext() {
	next, ok := sh.wheel.Next()
	if !ok {
		next = never
	}
	sh.next.Store(next)
}
