package shard

import (
	"time"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/ticks"
)

// AddAfter adds item at the first tick at or after the end of the duration.
func (s *Set[T]) AddAfter(item T, duration time.Duration) {
	s.AddWith(item, Delay{Duration: duration, Retry: true})
}

// AddWith is [Set.AddAfter] with a policy for an item that is delayed already.
func (s *Set[T]) AddWith(item T, d Delay) {
	if d.Window > 0 {
		_ = s.AddInWindow(item, d) // a refused add is counted
		return
	}
	if !d.Retry && !d.files() {
		s.addAtPriority(item, d.Priority)
		return
	}
	if s.Core.items.MayDiffer && s.Reject(item) {
		return
	}
	var to address
	sh := s.addressFor(item, &to, &d)
	if !d.files() {
		_ = sh.offer(items.KeyOf(&item), &to, &d, &admission{})
	} else {
		if d.Retry {
			s.Core.countRetry()
		}
		sh.fileIn(items.KeyOf(&item), &to, d, nil)
	}
	s.Core.notify()
}

// addressFor asks the limiter last, so that it counts nothing if the user's other
// functions panic.
func (s *Set[T]) addressFor(item T, to *address, d *Delay) (sh *shard) {
	sh = s.addressOf(item, to)
	if d.Limited {
		d.Duration = max(d.Duration, s.user.Backoff(item))
	}
	return sh
}

// AddInWindow is [Set.AddWith], and returns why an add was refused.
func (s *Set[T]) AddInWindow(item T, d Delay) error {
	return s.addIn(item, &d, &admission{})
}

// fileIn carries out an AddWith. The caller then calls notify.
func (sh *shard) fileIn(key items.Key, to *address, d Delay, a *admission) {
	f := sh.set.DeadlineOf(d)
	if d.Window > 0 {
		a.beginWindow(&sh.set.time, f.at, d.Window)
		defer a.watch(&sh.set.driver)
	}
	for {
		if f.delayed {
			if sh.delay(key, to, &f, a) {
				return
			}
			// The wheel stands at or after the deadline. Usually the clock does too.
			f.at = sh.set.driver.taken(sh.set.time.Nanoseconds())
		}
		if f.at.now >= f.first() {
			sh.addOverdue(key, to, &f, a)
			return
		}
		// The clock was set back, so the item would become ready early.
		sh.rewind(f.at.now)
		sh.set.driver.poke()
	}
}

// A Deadline is when a delay expires, by a reading of the clock.
type Deadline struct {
	at          reading
	deadline    uint64
	limit       uint64 // the latest tick at which the delay expires
	policy      DelayPolicy
	delayed     bool          // whether a delay was requested
	asked       time.Duration // the length that was asked for
	priority    int
	unlessReady bool // drops the delay of an item that is ready or dirty
	backoff     bool // see joinBackoff
	serves      bool // a backoff that serves adds made during the processing
	late        bool // an appointment that has passed, and is no more than an Add
}

// DeadlineOf reads the clock, for the deadline of a delay that begins now.
func (s *Core) DeadlineOf(d Delay) Deadline {
	t, at := &s.time, s.driver.taken(s.time.Nanoseconds())
	if d.Until > at.nanoseconds {
		d.Duration = max(d.Duration, ticks.Elapsed(at.nanoseconds, d.Until))
	}
	f := Deadline{
		at: at, deadline: at.now, limit: never, policy: d.Policy,
		delayed: d.Duration > 0, asked: d.Duration, priority: d.Priority,
		unlessReady: d.UnlessReady, backoff: d.Backoff && d.Duration > 0 && s.config.KeepBackoff,
	}
	f.late = d.Until != 0 && !f.delayed && d.Policy == KeepEarliest
	if f.delayed {
		f.deadline = t.After(at.nanoseconds, d.Duration)
	}
	if d.MaxWait > 0 {
		f.limit = t.After(at.nanoseconds, d.MaxWait)
	}
	if f.backoff { // no other add changes it, so it needs no limit
		f.deadline, f.limit = f.first(), never
	}
	return f
}

func (f *Deadline) first() uint64 { return min(f.deadline, f.limit) }

// addOverdue adds an item whose new delay is over already. It cancels a delay
// that is running: of several delays of an item, one counts, once.
func (sh *shard) addOverdue(key items.Key, to *address, f *Deadline, a *admission) {
	sh.set.refresh()
	if a == nil {
		a = &admission{}
	}
	sh.lock()
	if !sh.admits(a, key, to) {
		sh.mark(key, to)
		sh.unlock()
		return
	}
	next, waits := sh.keepDelayed(key, to.hash, f)
	fx := effects(0)
	if waits {
		sh.openWindow(a, key, to.hash)
	} else {
		id, e := sh.entryOf(a, key, to)
		to.mark = markOfEntry(e)
		fx = sh.add(id, e, request{priority: f.priority, cancelsDelay: !f.late || sh.set.config.Rules.CancelDelayOnAdd})
		if f.delayed {
			sh.rare.expired++
		}
	}
	if sh.set.measures != nil && f.delayed {
		sh.needMeasures().delay.Record(0, uint64(f.asked))
	}
	sh.unlock()
	if waits && next < sh.set.driver.armed.Load() {
		sh.set.driver.poke()
	}
	sh.set.publish(fx)
}

// keepDelayed reports whether the item stays delayed, because its policy keeps
// the delay that is running. next is the shard's next deadline, perhaps that of
// another item, because the wheel may have been set back.
func (sh *shard) keepDelayed(key items.Key, hash uint32, f *Deadline) (next uint64, waits bool) {
	id := sh.find(key, hash)
	if id == 0 || !sh.table.At(id).Delayed() || sh.wheel.backsOff(id) || f.policy != KeepOld && f.policy != KeepLatest ||
		f.limit <= f.at.now {
		return 0, false
	}
	if f.limit <= sh.wheel.Now() { // the clock was set back, or has moved on unseen
		sh.wheel.Rewind(f.at.now)
		sh.publishNext()
	}
	filed, _ := sh.wheel.Deadline(id)
	sh.reschedule(id, filed, filed, f.limit)
	sh.delayAtPriority(id, sh.table.At(id), f.priority, true)
	sh.wheel.filed(f.at, sh.set.driver.count())
	return sh.next.Load(), true
}

// delay returns false if the wheel has passed the deadline.
func (sh *shard) delay(key items.Key, to *address, f *Deadline, a *admission) (settled bool) {
	if !sh.tryLock() {
		sh.lockToAdd()
	}
	for sh.set.closing.refusing.Load() {
		if a != nil && a.limited || !sh.takesBack(key, to.hash) {
			sh.refuse(a)
			sh.unlock()
			return true
		}
		if !sh.sweeping() {
			break
		}
		sh.unlock() // the sweep must not take what is filed now
		sh.sweepSome()
		sh.lock()
	}
	if sh.wheel == nil {
		sh.wheel = newWheel(f.at.now)
	}
	if f.first() <= sh.wheel.Now() {
		sh.unlock()
		return false
	}
	if a != nil && !sh.admits(a, key, to) {
		sh.unlock()
		return true
	}
	sh.prefetchTimer(to.hash)
	deadline := sh.fileTimer(key, to, f, a)
	sh.noteFiled(f)
	sh.unlock()
	sh.set.driver.filed(deadline, f.at)
	return true
}

func (sh *shard) noteFiled(f *Deadline) {
	sh.wheel.filed(f.at, sh.set.driver.count())
	if sh.set.measures != nil && f.delayed {
		sh.measures().delay.Record(0, uint64(f.asked))
	}
}

func (sh *shard) fileTimer(key items.Key, to *address, f *Deadline, a *admission) (deadline uint64) {
	id, e := sh.entryOf(a, key, to)
	to.mark = markOfEntry(e)
	return sh.fileTimerOf(id, e, f)
}

// fileTimerOf files the timer of an item for f, which it may change. It returns
// never if a run to come serves the delay.
func (sh *shard) fileTimerOf(id uint32, e *items.Entry, f *Deadline) (deadline uint64) {
	switch {
	case sh.wheel.backsOff(id):
		sh.joinBackoff(id, e, f.priority)
		return never
	case f.backoff:
		sh.delayAdds(id, e, f)
		if e.Delayed() {
			f.serves, f.priority = true, max(f.priority, sh.cancelDelay(id, e))
		}
	}
	if p := e.Phase(); (p == items.Ready || p == items.Dirty) && (f.unlessReady || sh.set.config.Rules.DropDelayIfReady) {
		sh.raisePriority(id, e, f.priority)
		sh.count.deduplicated++
		return never
	}
	if e.Delayed() {
		sh.delayAtPriority(id, e, f.priority, true)
		filed, _ := sh.wheel.Deadline(id)
		return sh.reschedule(id, filed, f.policy.choose(filed, f.deadline), f.limit)
	}
	e.SetDelayed(true)
	if t := sh.table.times; t != nil && e.Phase() == items.Idle {
		t.set(id, f.at.now*sh.set.time.Tick)
	}
	sh.delayAtPriority(id, e, f.priority, false)
	if f.deadline = min(f.deadline, sh.wheel.limit(id, f.limit)); f.backoff {
		if sh.wheel.beginBackoff(id); f.serves {
			sh.wheel.serve(id)
		}
	}
	return sh.schedule(id, f.deadline)
}

// joinBackoff adds an item that is in its backoff after a failure, with
// Settings.KeepBackoff. The run at the end of the backoff serves the add. It
// also serves the runs that were asked for before the backoff: see fileTimerOf.
func (sh *shard) joinBackoff(id uint32, e *items.Entry, priority int) {
	sh.wheel.serve(id)
	sh.delayAtPriority(id, e, priority, true)
	sh.count.deduplicated++
}

// delayAdds lets the run at the end of a delay serve adds made during the
// processing.
func (sh *shard) delayAdds(id uint32, e *items.Entry, f *Deadline) {
	if e.Phase() == items.Dirty {
		f.serves, f.priority = f.backoff, max(f.priority, sh.table.Requested.Run(id))
		sh.withdraw(id, e)
	}
}

func (sh *shard) reschedule(id uint32, filed, deadline, limit uint64) uint64 {
	deadline = min(deadline, sh.wheel.limit(id, limit))
	if deadline == filed || deadline <= sh.wheel.Now() {
		return filed // in the latter case it is about to expire
	}
	return sh.schedule(id, deadline)
}

func (sh *shard) schedule(id uint32, deadline uint64) uint64 {
	sh.wheel.Schedule(id, deadline)
	if deadline < sh.next.Load() {
		sh.next.Store(deadline)
	}
	return deadline
}

// cancelDelay ends a delay and removes its timer. The driver may still wake for
// it.
func (sh *shard) cancelDelay(id uint32, e *items.Entry) (priority int) {
	sh.wheel.Cancel(id)
	return sh.clearDelay(id, e)
}

// clearDelay ends the delay of an item whose timer is no longer filed.
func (sh *shard) clearDelay(id uint32, e *items.Entry) (priority int) {
	e.SetDelayed(false)
	sh.wheel.unlimit(id)
	if w := sh.table.Requested; w != nil {
		priority = w.Delayed(id)
		w.SetDelayed(id, 0)
	}
	return priority
}

func (sh *shard) expireItem(id uint32) {
	e := sh.table.At(id)
	sh.rare.expired++
	sh.add(id, e, request{priority: sh.clearDelay(id, e), expired: true})
}

func (sh *shard) expire(at reading) effects {
	sh.lock()
	defer sh.unlock()
	if sh.set.closing.begun.Load() {
		sh.next.Store(never)
		return 0
	}
	sh.endWindows(at)
	if sh.wheel == nil {
		sh.publishNext()
		return 0
	}
	before := sh.line.Depth()
	sh.wheel.Advance(sh.wheel.safe(at), stepsPerHold, sh.expireItem)
	sh.publishNext()
	return sh.effectsOfExpiry(before)
}

func (sh *shard) effectsOfExpiry(before int32) effects {
	fx := sh.reportsDue()
	if sh.line.Depth() > before {
		fx |= wakes
	}
	return fx
}

func (sh *shard) rewind(now uint64) {
	sh.lock()
	defer sh.unlock()
	if sh.wheel != nil {
		sh.wheel.Rewind(now)
		sh.publishNext()
	}
}

func (sh *shard) publishNext() {
	next := sh.wheel.next()
	if w := sh.windows(); w != nil {
		next = min(next, w.ends.next())
	}
	sh.next.Store(next)
}
