package shard

import (
	"sync/atomic"

	"github.com/shardq/shardq/clock"
)

// driver wakes for the earliest deadline of all shards. There is one for a queue,
// and it has no goroutine of its own: between deadlines it is one timer of the
// clock's, and without waiting items it is nothing. A standing goroutine was the
// alternative: it costs 2 KiB and more for each of thousands of queues, has to be
// started, poked awake through a channel, and joined.
//
// Whoever changes the timer holds the baton meanwhile. No lock is held, so the
// clock, which may be the user's, is free to block, to panic, or to run the timer's
// function at once.
type driver[T comparable] struct {
	set *Set[T]
	// armed is the tick that the timer is set for: never when it is not set. It
	// is at or before every filed deadline, or somebody who will change that
	// holds the baton.
	armed atomic.Uint64
	baton atomic.Uint32 // one of the states below
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
// armed calls it, after the shard has published that deadline in next.
//
// The race to lose would be this: the driver reads a shard's next; an AddAfter
// publishes an earlier one there, and reads armed; the driver sets armed and its
// timer, too late for that deadline. It cannot happen: armed is never while the
// driver reads, so that AddAfter pokes; its seize fails, but marks the baton as
// wanted, and the driver looks again before it rests.
func (d *driver[T]) poke() {
	if d.seize() {
		settled := false
		defer d.abandon(&settled)
		d.settle()
		settled = true
	}
}

// run is the timer's function. If somebody else holds the baton, there is nothing
// to do: told to look again, they set the timer anew, for at once.
func (d *driver[T]) run() {
	if d.seize() {
		settled := false
		defer d.abandon(&settled)
		d.expireDue()
		d.settle()
		settled = true
	}
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

// settle sets the timer and puts the baton down.
func (d *driver[T]) settle() {
	for {
		if d.set.closing.begun.Load() {
			d.retire()
			return
		}
		d.arm()
		if d.baton.CompareAndSwap(held, resting) {
			return
		}
		d.baton.Store(held)
	}
}

// arm sets the timer for the earliest deadline.
func (d *driver[T]) arm() {
	d.armed.Store(never) // from here on, whoever files a timer pokes us
	next := d.set.earliest()
	d.armed.Store(next)
	switch {
	case next == never:
		if d.timer != nil {
			d.timer.Stop() // the items it was for wait no more
		}
	case d.timer == nil:
		d.timer = d.set.time.clock.AfterFunc(d.set.time.until(next), d.run)
	default:
		d.timer.Reset(d.set.time.until(next))
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

// settled is set by the holder of the baton when it has put the baton down. If the
// clock panics before that, abandon, deferred, puts it down: the next AddAfter then
// sets the timer, and a stop that waits is let go. The panic passes through.
func (d *driver[T]) abandon(settled *bool) {
	if *settled {
		return
	}
	d.armed.Store(never)
	if d.set.closing.begun.Load() {
		d.markStopped()
		return
	}
	d.baton.Store(resting)
}

// expireDue makes ready what is due, in turns of bounded length, a shard at a time.
func (d *driver[T]) expireDue() {
	for more := true; more; {
		now := d.set.time.now()
		more = false
		for i := range d.set.shards {
			sh := &d.set.shards[i]
			if sh.next.Load() > now {
				continue
			}
			more = true
			if sh.expire(now) {
				d.set.wake()
			}
		}
	}
}

// earliest returns the first tick at which a shard's wheel wants to be advanced.
func (s *Set[T]) earliest() uint64 {
	earliest := uint64(never)
	for i := range s.shards {
		earliest = min(earliest, s.shards[i].next.Load())
	}
	return earliest
}
