package shard

import (
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/shardq/shardq/clock"
)

// A driver wakes for the earliest deadline of all shards. Between deadlines it
// is one timer of the clock: a goroutine would take memory in each of thousands
// of queues, and have to be started, woken and joined.
//
// Who changes the timer owns it meanwhile, and holds no lock. The user's clock
// may therefore block, panic, or call the timer's function at once.
type driver struct {
	set *Core
	// armed is the tick that the timer is set for, or never. It is at or before
	// every filed deadline, or the owner of the timer is about to change that.
	armed     atomic.Uint64
	ownership atomic.Uint32 // one of the states below
	readings  atomic.Uint32 // the driver's readings of the clock: see reading
	timer     clock.Timer   // used only by its owner
	lingering bool          // see lingers; used only by the owner of the timer
	gone      chan struct{} // closed when the driver has stopped, or lingers after a shutdown
	goneOnce  sync.Once
}

// The states of ownership:
//
//	          acquire             acquire (fails)
//	idle ───────────────▶ running ───────────────▶ notified
//	  ▲                     │ ▲                        │
//	  └─────────────────────┘ └────────────────────────┘
//	         settle              settle reads again
//
//	running, notified ── settle, after a shutdown began ──▶ stopped
const (
	timerIdle     = iota // no goroutine owns the timer, and none needs to
	timerRunning         // a goroutine owns the timer
	timerNotified        // and something has changed since it read the deadlines
	timerStopped         // the queue is shut down, and the timer stopped for good
)

func (d *driver) init(s *Core) {
	d.set = s
	d.armed.Store(never)
	d.gone = make(chan struct{})
}

// poke makes the driver read the deadlines. Who files a deadline before armed
// calls it, after the shard has published the deadline in next.
//
// The race to lose would be this: the driver reads a shard's next; an AddAfter
// publishes an earlier one, and reads armed; the driver sets armed and its
// timer, too late. It cannot happen: armed is never while the driver reads, so
// AddAfter pokes; its acquire fails, but notifies the owner, which reads again
// before it gives the timer up.
func (d *driver) poke() { d.pokeFor(notice{deadline: never}) }

// A notice tells the driver of one deadline, filed by a reading of the clock at
// start. If deadline is never, it tells that something has changed.
type notice struct{ deadline, start uint64 }

// pokeFor is poke for one deadline that was filed. If the timer is set for
// later, it is moved without reading the shards.
func (d *driver) pokeFor(n notice) {
	told := !d.set.hasReports()
	if d.run(n) && told && d.set.hasReports() {
		go d.set.callHooks() // the caller may hold the wake token, or owe a report
	}
}

const (
	jump         = 100 // ticks that the timer is overdue if the clock has jumped without it
	mostSettings = 4   // for a clock that is stepped, or slow to set a timer
)

// filed pokes the driver if its timer is set for later than a deadline, or if
// the clock has jumped, which nothing else would notice until the timers fire.
func (d *driver) filed(deadline uint64, at reading) {
	armed := d.armed.Load()
	switch {
	case deadline < armed:
		d.pokeFor(notice{deadline, at.nanoseconds})
	case armed < never-jump && armed+jump < at.now:
		d.poke()
	}
}

func (d *driver) filedIf(deadline uint64, at reading) {
	if deadline != never {
		d.filed(deadline, at)
	}
}

// call is the timer's function. It may run on the stack of the timer's owner,
// within AfterFunc or Reset. OnStuck may call ShutDown, which waits for that
// owner, so another goroutine calls OnStuck then.
func (d *driver) call() {
	if d.run(notice{deadline: never}) {
		d.set.callHooks()
	} else if d.set.hasReports() {
		go d.set.callHooks()
	}
}

// An expiry is a hook for whoever shows figures: items became ready without a
// call.
type expiry struct {
	hook    func()
	pending atomic.Bool
}

// OnExpiry sets a hook that is called after delays have expired. It must be called
// before the set is used.
func (s *Core) OnExpiry(hook func()) { s.expiry.hook = hook }

func (d *driver) run(n notice) (acquired bool) {
	if !d.acquire() {
		return false
	}
	readOr(func() { d.settle(n) }, d.abandon)
	return true
}

// stop returns when the timer is stopped, or the driver lingers.
func (d *driver) stop() {
	d.poke()
	<-d.gone
}

func (d *driver) acquire() bool {
	for {
		switch state := d.ownership.Load(); state {
		case timerIdle:
			if d.ownership.CompareAndSwap(timerIdle, timerRunning) {
				return true
			}
		case timerRunning:
			d.ownership.CompareAndSwap(timerRunning, timerNotified) // and see whether it is
		default:
			return false
		}
	}
}

func (d *driver) settle(n notice) {
	for {
		begun := d.set.closing.begun.Load()
		if begun && !d.lingers() {
			if d.timer != nil {
				d.timer.Stop()
			}
			d.markStopped()
			return
		}
		if armed := d.armFor(n); !armed {
			d.expireDue()
		} else if d.ownership.CompareAndSwap(timerRunning, timerIdle) {
			if begun {
				d.leave()
			}
			return
		} else {
			d.ownership.Store(timerRunning)
		}
		n.deadline = never // from now on there may be other deadlines
	}
}

// armFor is arm for a deadline that was filed: those who filed others before
// armed will poke. If armed is never, drop may have left the timer unset.
func (d *driver) armFor(n notice) (ok bool) {
	switch armed := d.armed.Load(); {
	case n.deadline == never || armed == never:
		return d.arm()
	case armed <= n.deadline:
		return true // another goroutine has set it for earlier meanwhile
	}
	d.armed.Store(n.deadline)
	return d.armAt(n.deadline, n.start)
}

// arm sets the timer for the earliest deadline. It returns false if that has
// passed: the clock might call the function of such a timer while we own it.
func (d *driver) arm() (ok bool) {
	d.armed.Store(never) // from here on, a goroutine that files a timer pokes us
	next := d.earliest()
	d.armed.Store(next)
	if next == never {
		if d.timer != nil {
			d.timer.Stop() // its items are not delayed any more
		}
		return true
	}
	return d.armAt(next, d.set.time.Nanoseconds())
}

func (d *driver) armAt(deadline, now uint64) (ok bool) {
	left := d.set.time.Left(now, deadline)
	for tries := 0; left > 0 && tries < mostSettings; tries++ {
		delay := left
		if d.timer == nil {
			d.timer = d.set.time.Clock.AfterFunc(delay, weakCall(d))
		} else {
			d.timer.Reset(delay)
		}
		// The timer is late by a step of the clock between its reading and this.
		left = d.set.time.Until(deadline)
		if delay-left <= time.Duration(d.set.time.Tick) {
			break
		}
	}
	return left > 0
}

// weakCall returns the timer's function. It holds no unused set in memory.
func weakCall(d *driver) func() {
	set := weak.Make(d.set)
	return func() {
		if s := set.Value(); s != nil {
			s.driver.call()
		}
	}
}

func (d *driver) markStopped() {
	d.ownership.Store(timerStopped)
	d.set.endRateIfStopped()
	d.leave()
}

func (d *driver) leave() { d.goneOnce.Do(func() { close(d.gone) }) }

// lingers reports whether, after a shutdown, consumers may wait for groups or
// the gate. If so, the driver never stops, so that SetRate works.
func (d *driver) lingers() bool {
	if len(d.set.throttled.waits) > 0 || d.set.gate.bucket.Load() != nil {
		d.lingering = true
	}
	return d.lingering
}

// pokeKeeping is poke for a caller that has items, which a panic of the clock
// would lose. It recovers from that panic.
func (d *driver) pokeKeeping() {
	defer func() { _ = recover() }()
	d.poke()
}

// abandon tries once more if the clock has panicked, because goroutines may
// have filed deadlines and left the timer to us. After a second panic, the next
// AddAfter has to set the timer. The first panic continues.
func (d *driver) abandon() {
	again := false
	defer func() {
		if !again {
			_ = recover() // the second panic, if there is one
			d.drop()
		}
	}()
	d.settle(notice{deadline: never})
	again = true
}

// drop gives the timer up in an unknown state. It lets a waiting stop return.
func (d *driver) drop() {
	d.armed.Store(never)
	d.set.coarse.Live.Store(0) // no timer ends the reading
	for {
		begun := d.set.closing.begun.Load()
		if begun && !d.lingers() {
			break
		}
		if d.ownership.CompareAndSwap(timerRunning, timerIdle) {
			if begun {
				d.leave()
			}
			return
		}
		// We were notified. We cannot read again, but it may be a shutdown that
		// began since we checked and waits for gone.
		d.ownership.Store(timerRunning)
	}
	d.markStopped()
}

func (d *driver) expireDue() {
	for more := true; more; {
		before := d.set.coarse.Now.Load()
		at := d.readClock()
		// First, because consumers that wake stamp what they take with this
		// reading.
		d.set.coarse.Update(before, d.stampOf(at), at.now)
		more = d.endWaitsDue(at)
		if d.set.watchdog.next.Load() <= at.now {
			d.set.watchdog.search(at.now)
		}
		for sh := range d.set.shards.made() {
			if sh.next.Load() <= at.now {
				more = true
				d.set.publish(sh.expire(at))
				if d.set.expiry.hook != nil {
					d.set.expiry.pending.Store(true)
				}
			}
		}
	}
}

func (d *driver) earliest() uint64 {
	waits := d.earliestWait()
	if d.set.closing.begun.Load() {
		return waits
	}
	earliest := min(waits, d.set.coarse.Deadline(), d.set.watchdog.next.Load())
	for sh := range d.set.shards.made() {
		earliest = min(earliest, sh.next.Load())
	}
	return earliest
}

func (d *driver) earliestWait() uint64 {
	earliest := d.set.gate.opens.Load()
	for i := range d.set.throttled.waits {
		earliest = min(earliest, d.set.throttled.waits[i].Load())
	}
	return earliest
}

// endWaitsDue ends the waits of groups that are over, opens the gate if its
// wait is over, and reports whether there was any.
func (d *driver) endWaitsDue(at reading) (any bool) {
	for i := range d.set.throttled.waits {
		if d.set.throttled.waits[i].Load() <= at.now {
			any = true
			d.set.publish(d.set.shard(i).endWaits(at))
		}
	}
	if opens := d.set.gate.opens.Load(); opens <= at.now && d.set.gate.opens.CompareAndSwap(opens, never) {
		any = true
		d.set.wake()
	}
	return any
}

func (sh *shard) endWaits(at reading) (fx effects) {
	sh.lock()
	defer sh.unlock()
	if sh.line.EndWaits(at.now, at.nanoseconds, stepsPerHold) {
		fx = wakes
	}
	sh.show()
	if sh.table != nil {
		sh.releaseIfDue()
	}
	return fx | sh.reportsDue()&^files // the caller is the driver
}

// readClock counts before it reads, so that later readings find the count.
func (d *driver) readClock() reading {
	count := uint16(d.readings.Add(1))
	return d.reading(d.set.time.Nanoseconds(), count)
}

func (d *driver) taken(now uint64) reading { return d.reading(now, d.count()) }

func (d *driver) reading(now uint64, number uint16) reading {
	return reading{now: now / d.set.time.Tick, number: number, nanoseconds: now}
}

func (d *driver) stampOf(at reading) uint64 {
	if d.set.measures != nil {
		return at.nanoseconds
	}
	return at.now * d.set.time.Tick
}

func (d *driver) count() uint16 { return uint16(d.readings.Load()) }
