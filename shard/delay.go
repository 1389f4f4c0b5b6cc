package shard

import "time"

// AddAfter adds item once duration has passed on the queue's clock: at the first
// tick at or after that, never before. It adds at once if duration is zero or less.
// Of several delays of one item the one that ends first counts, and adds it once.
// After a shutdown began, AddAfter drops the item.
func (s *Set[T]) AddAfter(item T, duration time.Duration) {
	s.AddWith(item, Delay{Duration: duration, Retry: true})
}

// AddWith is AddAfter with a say in what becomes of an item that waits already. With a
// duration of zero or less the policy is asked all the same: KeepEarliest makes it
// Add, KeepNew cancels the delay, and with the other two the item waits on.
func (s *Set[T]) AddWith(item T, d Delay) {
	if s.measures != nil {
		s.countRetryOf(item, d)
	}
	if d.Duration <= 0 && d.Policy == KeepEarliest {
		s.addAtPriority(item, d.Priority)
		return
	}
	if s.mayDiffer && s.Reject(item) {
		return
	}
	sh, to := s.addressOf(item)
	s.fileIn(sh, item, to, d)
}

// fileIn is AddWith of an item whose address is known, with a delay or a policy. It
// reports whether the item was taken in.
func (s *Set[T]) fileIn(sh *shard[T], item T, to address, d Delay) (taken bool) {
	at := s.driver.taken(s.time.nanoseconds())
	f := s.time.filing(d, at)
	for {
		if d.Duration > 0 {
			if ok, refused := s.delay(sh, item, to, at, f); ok || refused {
				return ok
			}
		}
		// The wheel stands at or after the deadline. As a rule the clock got
		// there too since it was read.
		if d.Duration > 0 {
			at = s.driver.taken(s.time.nanoseconds())
		}
		if at.now >= f.first() {
			return s.addOverdue(sh, item, to, at, f)
		}
		// It did not: it was set back. Then so is the wheel, lest the item
		// become ready early.
		sh.rewind(at.now)
		s.driver.poke()
	}
}

// A filing is a Delay in ticks.
type filing struct {
	deadline uint64
	// limit is where the wait ends at the latest.
	limit  uint64
	policy Policy
	// delayed tells it from one that asks for no delay, and asked is how long that is.
	delayed  bool
	asked    time.Duration
	priority int
}

// filing returns what d asks for from a reading on.
func (t *timebase) filing(d Delay, at reading) filing {
	f := filing{
		deadline: at.now, limit: never, policy: d.Policy,
		delayed: d.Duration > 0, asked: d.Duration, priority: d.Priority,
	}
	if f.delayed {
		f.deadline = t.after(at.nanoseconds, d.Duration)
	}
	if d.MaxWait > 0 {
		f.limit = t.after(at.nanoseconds, d.MaxWait)
	}
	return f
}

// first returns the tick before which the filing asks for nothing.
func (f filing) first() uint64 { return min(f.deadline, f.limit) }

// addOverdue adds an item whose deadline passed while AddAfter was on its way, or that
// is to have no delay, unless the policy lets it wait on. Otherwise a deadline that the
// item had is void: of several, one counts, once. It reports whether it took the
// item in.
func (s *Set[T]) addOverdue(sh *shard[T], item T, to address, at reading, f filing) (taken bool) {
	s.refresh()
	sh.mu.Lock()
	next, waits := sh.waitOn(item, to.hash, at, f)
	fx := effects(0)
	if !waits {
		if fx = sh.addItem(item, &to, request{priority: f.priority, endsDelay: true}); fx&took != 0 && f.delayed {
			sh.rare.fired++
		}
	}
	if s.measures != nil && f.delayed && (waits || fx&took != 0) {
		sh.needMeasures().delay.record(0, uint64(f.asked))
	}
	sh.mu.Unlock()
	if waits && next < s.driver.armed.Load() {
		s.driver.poke()
	}
	s.after(fx)
	return waits || fx&took != 0
}

// waitOn lets an item go on waiting, if it waits, and the policy of an overdue filing
// wants that; within the limit. It returns the shard's next deadline: if the wheel was set
// back, that may be another item's.
func (sh *shard[T]) waitOn(item T, hash uint32, at reading, f filing) (next uint64, waits bool) {
	id := sh.find(item, hash)
	if id == 0 || !sh.table.at(id).waiting() || f.policy != KeepOld && f.policy != KeepLatest {
		return 0, false
	}
	if f.limit <= at.now || sh.set.closing.refusing.Load() && !sh.takesBack(item, hash) {
		return 0, false
	}
	if f.limit <= sh.wheel.Now() { // the clock was set back, or is about to be seen to have moved on
		sh.wheel.Rewind(at.now)
		sh.publishNext()
	}
	filed, _ := sh.wheel.Deadline(id)
	sh.reschedule(id, filed, filed, f.limit)
	sh.wishToWait(id, f.priority)
	sh.wheel.filed(at, sh.set.driver.count())
	return sh.next.Load(), true
}

// delay makes item wait until the deadline. It does not if that is not after the
// time of the shard's wheel; nor if a shutdown has begun, which it reports.
func (s *Set[T]) delay(sh *shard[T], item T, to address, at reading, f filing) (ok, refused bool) {
	sh.mu.Lock()
	for s.closing.refusing.Load() {
		if !sh.takesBack(item, to.hash) {
			sh.rare.dropped++
			sh.mu.Unlock()
			return false, true
		}
		if !sh.sweeping() {
			break
		}
		sh.mu.Unlock() // what is filed now is not to be swept
		s.sweepSome(sh)
		sh.mu.Lock()
	}
	if sh.wheel == nil {
		sh.wheel = newWheel(at.now)
	}
	if f.first() <= sh.wheel.Now() {
		sh.mu.Unlock()
		return false, false
	}
	deadline := sh.wait(item, to, at, f)
	sh.noteFiled(at, f)
	sh.mu.Unlock()
	s.driver.filed(deadline, at)
	s.limit.Notify()
	return true, false
}

// noteFiled notes that a timer was filed.
func (sh *shard[T]) noteFiled(at reading, f filing) {
	sh.wheel.filed(at, sh.set.driver.count())
	if sh.set.measures != nil && f.delayed {
		sh.measures().delay.record(0, uint64(f.asked))
	}
}

// wait files the item's timer and returns its deadline.
func (sh *shard[T]) wait(item T, to address, at reading, f filing) (deadline uint64) {
	sh.touchTimer(to.hash)
	id, e := sh.entryFor(item, &to)
	return sh.waitAs(id, e, at, f)
}

func (sh *shard[T]) waitAs(id uint32, e *entry[T], at reading, f filing) (deadline uint64) {
	if e.waiting() {
		sh.wishToWait(id, f.priority)
		filed, _ := sh.wheel.Deadline(id)
		return sh.reschedule(id, filed, f.policy.choose(filed, f.deadline), f.limit)
	}
	e.setWaiting(true)
	if e.phase() == idle {
		sh.table.times.onWait(id, at.now*sh.set.time.tick)
	}
	sh.beginWish(id, f.priority)
	return sh.schedule(id, min(f.deadline, sh.wheel.limit(id, f.limit)))
}

// reschedule moves a timer, within the limit, and returns its deadline.
func (sh *shard[T]) reschedule(id uint32, filed, deadline, limit uint64) uint64 {
	deadline = min(deadline, sh.wheel.limit(id, limit))
	if deadline == filed || deadline <= sh.wheel.Now() {
		return filed // in the latter case it is about to be fired
	}
	return sh.schedule(id, deadline)
}

func (sh *shard[T]) schedule(id uint32, deadline uint64) uint64 {
	sh.wheel.Schedule(id, deadline)
	if deadline < sh.next.Load() {
		sh.next.Store(deadline)
	}
	return deadline
}

// endDelay cancels the item's timer, and returns the priority with which it waited.
// The driver may still wake for it once.
func (sh *shard[T]) endDelay(id uint32, e *entry[T]) (priority int) {
	sh.wheel.Cancel(id)
	return sh.waited(id, e)
}

// waited ends the wait of an item whose timer is filed no more, and returns the
// priority with which it waited.
func (sh *shard[T]) waited(id uint32, e *entry[T]) (priority int) {
	e.setWaiting(false)
	sh.wheel.unlimit(id)
	if w := sh.table.wishes; w != nil {
		priority = w.wait(id)
		w.setWait(id, 0)
	}
	return priority
}

// fire is called by the wheel, under the shard's lock, for an item whose delay has
// ended.
func (sh *shard[T]) fire(id uint32) {
	e := sh.table.at(id)
	sh.rare.fired++
	sh.add(id, e, request{priority: sh.waited(id, e)})
}

// stepsPerHold bounds how long expire keeps a shard's lock: a tenth of a millisecond or
// less, as a rule, whatever the number of timers due.
const stepsPerHold = 128

// expire makes items ready whose deadlines have passed, up to a bound. It takes the
// lock.
func (sh *shard[T]) expire(at reading) effects {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.wheel == nil || sh.set.closing.begun.Load() {
		sh.next.Store(never)
		return 0
	}
	before := sh.depth()
	sh.wheel.Advance(sh.wheel.safe(at), stepsPerHold, sh.fire)
	sh.publishNext()
	return sh.came(before)
}

// came returns the effects of delays that have ended, before which so much was ready.
func (sh *shard[T]) came(before int32) effects {
	fx := sh.reportsDue()
	if sh.depth() > before {
		fx |= wakes
	}
	return fx
}

// rewind sets the shard's wheel back. It takes the lock.
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
