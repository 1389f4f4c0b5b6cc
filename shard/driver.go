package shard

import (
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/shared"
)

// driver wakes for the earliest deadline of all shards. There is one for a queue,
// and it has no goroutine of its own: between deadlines it is one timer of the
// clock's, and without waiting items it is nothing. A standing goroutine was the
// alternative: it costs 2 KiB and more for each of thousands of queues, has to be
// started, poked awake through a channel, and joined.
//
// Whoever changes the timer holds the baton meanwhile. No lock is held, so the
// clock, which may be the user's, may block (only ShutDown waits for it), panic, or
// run the timer's function at once.
type driver[T comparable] struct {
	set *Set[T]
	// armed is the tick that the timer is set for: never when it is not set. It
	// is at or before every filed deadline, or somebody who will change that
	// holds the baton.
	armed shared.Uint64[shared.Timer]
	baton shared.Uint32[shared.Timer] // one of the states below
	// looks counts the driver's looks at the clock: see reading.
	looks shared.Uint32[shared.Timer]
	// timer belongs to the holder of the baton.
	timer clock.Timer
	// gone is closed when baton becomes stopped.
	gone chan struct{}
}

// The states of the baton:
//
//	             seize                 seize (fails)
//	resting ───────────────▶ held ───────────────────▶ wanted
//	   ▲                      │ ▲                        │
//	   └──────────────────────┘ └────────────────────────┘
//	          settle                settle looks again
//
//	held, wanted ── settle, after a shutdown began ──▶ stopped
const (
	// resting: nobody looks after the timer, and nobody needs to.
	resting = iota
	// held: somebody is looking after the timer.
	held
	// wanted: likewise, and something has changed since they looked.
	wanted
	// stopped: the queue is shut down, the timer is stopped for good.
	stopped
)

func (d *driver[T]) init(s *Set[T]) {
	d.set = s
	d.armed.Store(never)
	d.gone = make(chan struct{})
}

// poke makes the driver look at the deadlines. Whoever files a deadline before
// armed calls it, after the shard has published that deadline in next. The timer's function
// does the same.
//
// The race to lose would be this: the driver reads a shard's next; an AddAfter
// publishes an earlier one there, and reads armed; the driver sets armed and its
// timer, too late for that deadline. It cannot happen: armed is never while the
// driver reads, so that AddAfter pokes; its seize fails, but marks the baton as
// wanted, and the driver looks again before it rests.
func (d *driver[T]) poke() { d.pokeFor(notice{deadline: never}) }

// A notice tells the driver of a deadline that somebody filed, who read the clock at
// start; or, if that is never, that there is something to look for.
type notice struct{ deadline, start uint64 }

// pokeFor is poke by who knows what has changed: if the timer is set, for later, then it
// is the new deadline that is the earliest of all. To move the timer there takes no look
// at the shards.
func (d *driver[T]) pokeFor(n notice) {
	told := !d.set.watchdog.pending.Load()
	if d.run(n) && told && d.set.watchdog.pending.Load() {
		go d.set.tell() // the caller may hold the token, or owe somebody something
	}
}

// jump is how many ticks the timer may be overdue before the clock is taken to have jumped.
const jump = 100

// filed pokes the driver if the timer may miss a deadline that was filed by a reading of
// the clock: it is set for a later one; or it is so much overdue that the clock has
// jumped forward, as it seems, and its timers have not. Then nobody else would notice
// until they have come.
func (d *driver[T]) filed(deadline uint64, at reading) {
	armed := d.armed.Load()
	switch {
	case deadline < armed:
		d.pokeFor(notice{deadline, at.nanoseconds})
	case armed < never-jump && armed+jump < at.now:
		d.poke()
	}
}

// call is the timer's function. If it does not get the baton, its caller may be a
// clock that calls it from within AfterFunc or Reset, on the stack of the holder.
// OnStuck may call ShutDown, which waits for that holder, so it is called from
// another goroutine then.
func (d *driver[T]) call() {
	if d.run(notice{deadline: never}) {
		d.set.tell()
	} else if d.set.watchdog.pending.Load() {
		go d.set.tell()
	}
}

// run looks after the timer, unless somebody else does.
func (d *driver[T]) run(n notice) (seized bool) {
	if !d.seize() {
		return false
	}
	settled := false
	defer d.abandon(&settled)
	d.settle(n)
	settled = true
	return true
}

// stop ends the driver, after a shutdown began: when it returns, the timer is
// stopped, and nobody is at work on it.
func (d *driver[T]) stop() {
	d.poke()
	<-d.gone
}

// seize takes the baton, or tells its holder to look again.
func (d *driver[T]) seize() bool {
	for {
		switch state := d.baton.Load(); state {
		case resting:
			if d.baton.CompareAndSwap(resting, held) {
				return true
			}
		case held:
			if d.baton.CompareAndSwap(held, wanted) {
				return false
			}
		default:
			return false
		}
	}
}

// settle makes ready what is due, sets the timer for the rest, and puts the baton
// down.
func (d *driver[T]) settle(n notice) {
	for {
		if d.set.closing.begun.Load() {
			d.retire()
			return
		}
		if armed := d.armFor(n); !armed {
			d.expireDue()
		} else if d.baton.CompareAndSwap(held, resting) {
			return
		} else {
			d.baton.Store(held)
		}
		n.deadline = never // from now on there may be more to look for
	}
}

// armFor is arm for who has filed a deadline. What the timer is set for is at or before
// all deadlines of others, or they will poke us; and never may mean that drop left the
// timer unset.
func (d *driver[T]) armFor(n notice) (ok bool) {
	switch armed := d.armed.Load(); {
	case n.deadline == never || armed == never:
		return d.arm()
	case armed <= n.deadline:
		return true // since we looked, somebody has set it for earlier
	}
	d.armed.Store(n.deadline)
	return d.armAt(n.deadline, n.start)
}

// arm sets the timer for the earliest deadline, unless that has passed, which it
// reports as false. A timer for at once would do no better: the clock may call its
// function while we hold the baton.
func (d *driver[T]) arm() (ok bool) {
	d.armed.Store(never) // from here on, whoever files a timer pokes us
	next := d.set.earliest()
	d.armed.Store(next)
	if next == never {
		if d.timer != nil {
			d.timer.Stop() // the items it was for wait no more
		}
		return true
	}
	return d.armAt(next, d.set.time.nanoseconds())
}

// armAt sets the timer for a deadline, by a reading of the clock, unless the deadline has
// passed.
func (d *driver[T]) armAt(deadline, now uint64) (ok bool) {
	left := d.set.time.left(now, deadline)
	for tries := 0; left > 0 && tries < mostSettings; tries++ {
		delay := left
		d.setTimer(delay)
		// If the clock was stepped between its reading and our setting the timer,
		// the timer is late by that step.
		left = d.set.time.until(deadline)
		if delay-left <= time.Duration(d.set.time.tick) {
			break
		}
	}
	return left > 0
}

// mostSettings is how often armAt sets the timer at most. A clock that takes longer than
// a tick for that seems to be stepped each time: then the timer is late by so much.
const mostSettings = 4

func (d *driver[T]) setTimer(delay time.Duration) {
	if d.timer == nil {
		d.timer = d.set.time.clock.AfterFunc(delay, d.call)
	} else {
		d.timer.Reset(delay)
	}
}

// retire stops the timer for good.
func (d *driver[T]) retire() {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.markStopped()
}

func (d *driver[T]) markStopped() {
	d.baton.Store(stopped)
	close(d.gone)
}

// abandon is deferred by the holder of the baton, who sets settled once it is put
// down. If the clock panicked before, abandon tries once more, for the sake of those
// who filed deadlines meanwhile and left the timer to us; if it panics again, the next
// AddAfter has to set the timer. The first panic passes through.
func (d *driver[T]) abandon(settled *bool) {
	if *settled {
		return
	}
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

// drop puts the baton down with the timer in an unknown state. A stop that waits is
// let go.
func (d *driver[T]) drop() {
	d.armed.Store(never)
	for !d.set.closing.begun.Load() {
		if d.baton.CompareAndSwap(held, resting) {
			return
		}
		// Somebody wants us to look again. We cannot, but it may be the shutdown,
		// which began since we looked and waits for gone.
		d.baton.Store(held)
	}
	d.markStopped()
}

// expireDue makes ready what is due, in turns of bounded length, a shard at a time.
func (d *driver[T]) expireDue() {
	for more := true; more; {
		at := d.look()
		more = false
		d.set.pulse.read(d.set.stampOf(at), at.now)
		if d.set.watchdog.next.Load() <= at.now {
			d.set.findStuck(at.now)
		}
		for sh := range d.set.made() {
			if sh.next.Load() > at.now {
				continue
			}
			more = true
			d.set.publish(sh.expire(at))
		}
	}
}

// earliest returns the first tick at which the driver has something to do: a shard's wheel
// wants to be advanced, the pulse has passed, or something may be stuck.
func (s *Set[T]) earliest() uint64 {
	earliest := min(s.pulse.ends(), s.watchdog.next.Load())
	for sh := range s.made() {
		earliest = min(earliest, sh.next.Load())
	}
	return earliest
}
