package main

import (
	"fmt"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

const deadlineText = `Ten million keys (uint64) are delayed, all until the same moment, on a clock
that stands still meanwhile and is then stepped past it. One goroutine files
them. Filing has ended when the queue has also accepted what it keeps in
buffers. Two probers go on meanwhile: one with Add, Get and Done, one with
AddAfter. Then all are taken. controller-runtime's queue is not tried: it takes
no clock.`

func oneDeadline(b *bench, t target) *figures {
	const within = time.Hour
	return expireAtOnce(b, t, numbers(b.countAtLeast(leastBurst, 10_000_000)), within, func(int) time.Duration { return within })
}

const stallText = `A million keys (uint64) are delayed until moments that are spread over ten
minutes. The clock is stepped over all of them at once, as for a process that
was stopped, or a machine that slept. Otherwise as before. controller-runtime's
queue is not tried: it takes no clock.`

func stall(b *bench, t target) *figures {
	const within = 10 * time.Minute
	it := numbers(b.countAtLeast(leastBurst, 1_000_000))
	delays := workload.Delays(len(it.keys), within)
	return expireAtOnce(b, t, it, within, func(i int) time.Duration { return delays[i] })
}

// expireAtOnce delays all items, and steps the time past all their deadlines.
func expireAtOnce(b *bench, t target, it items[uint64], within time.Duration, delay func(i int) time.Duration) *figures {
	if t.engine == controllerRuntime {
		return newFigures(t)
	}
	clock := newStanding()
	x := expiry{
		trial: newTrial(t, clock.source(), newStanding().source(), it),
		clock: clock, within: within, delay: delay, limit: b.limit,
	}
	defer x.idle.ShutDown()
	if !x.file() {
		return x.stop(filing, b.limit)
	}
	x.full()
	if !x.expire() {
		return x.stop(expiring, b.limit)
	}
	x.drain()
	x.step(2 * probeDelay) // past the delays of the probers
	if !x.flush() {
		return x.stop("the probers' delays", b.limit)
	}
	x.highest(0)
	x.accountFor()
	x.returned()
	return x.figures
}

// expiry is a trial of delayed items.
type expiry struct {
	*trial[uint64]
	clock  *standing
	within time.Duration
	delay  func(i int) time.Duration
	limit  time.Duration
	// passed is how much time has passed on the clock.
	passed time.Duration
}

const (
	filing   = "AddAfter, each"
	expiring = "from the deadline until all are ready"
)

func (x *expiry) probes() map[string]probe[uint64] {
	return map[string]probe[uint64]{cycle: probeCycle(x.take), addAfter: probeAddAfter[uint64]}
}

// file adds every item with a delay. It reports false if that took too long.
func (x *expiry) file() (ok bool) {
	start := time.Now()
	x.probed("filing", x.probes(), func() {
		ok = x.addAfterEach(start)
	})
	if !ok || !x.flush() {
		return false
	}
	x.each(filing, time.Since(start), len(x.items.keys))
	x.bounded("C19", "items that were ready before their time", count, 0, x.early())
	return true
}

func (x *expiry) addAfterEach(start time.Time) (ok bool) {
	const between = 4096
	for i, key := range x.items.keys {
		x.queue.AddAfter(key, x.delay(i))
		if i%between == 0 && time.Since(start) > x.limit {
			return false
		}
	}
	return true
}

// flush waits until the queue has accepted everything from its buffers: until
// the last item is handed out. It advances the time by milliseconds. It reports
// false if that took too long.
func (x *expiry) flush() (ok bool) {
	const tick, pause = time.Millisecond, 20 * time.Microsecond
	x.queue.AddAfter(x.items.last, tick)
	for start := time.Now(); time.Since(start) < x.limit; time.Sleep(pause) {
		x.step(tick)
		for x.queue.Len() > 0 {
			if x.getAndDone() == x.items.last {
				x.empty()
				return true
			}
		}
	}
	return false
}

func (x *expiry) step(d time.Duration) {
	x.passed += d
	x.clock.step(d)
}

// early returns the number of items that were ready before their time.
func (x *expiry) early() (n float64) {
	for _, item := range x.taken {
		if x.delay(int(item)) > x.passed {
			n++
		}
	}
	return n
}

// stepsPerHold is the constant of that name in package shard. A shard's lock is
// held for no more steps of its timer wheel, each of which makes an item ready,
// or sorts one.
const stepsPerHold = 128

// expire steps the time past all deadlines. It reports false if the items took
// too long to become ready.
func (x *expiry) expire() (ok bool) {
	x.probed("expiring", x.probes(), func() {
		start, left := time.Now(), max(1, len(x.items.keys)-len(x.taken))
		turns := x.clock.ours.note(func() { x.step(x.within) })
		if ok = x.awaitAllReady(start); !ok {
			x.queue.ShutDown() // releases a prober that is stuck
			return
		}
		elapsed := time.Since(start)
		x.took(expiring, elapsed)
		x.each("the same, for each item", elapsed, left)
		if x.target.engine == ours {
			x.took(fmt.Sprintf("at that pace, %d steps", stepsPerHold), elapsed/time.Duration(left)*stepsPerHold)
			x.calls("a turn of the driver, processor time", turns)
		}
	})
	return ok
}

// awaitAllReady waits until everything is ready or has been ready. Up to 256 of
// the counted items may be a prober's keys.
func (x *expiry) awaitAllReady(start time.Time) (ok bool) {
	const pause = 100 * time.Microsecond
	for ; time.Since(start) < x.limit; time.Sleep(pause) {
		if int(x.handedOut.Load())+x.queue.Len() >= len(x.items.keys) {
			return true
		}
	}
	return false
}
