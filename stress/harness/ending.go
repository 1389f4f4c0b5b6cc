package harness

import (
	"runtime"
	"sync"
	"time"

	"github.com/shardq/shardq"
)

// end ends the round. Afterwards the queue is shut down, and all producers and
// consumers have left.
func (r *round) end() {
	last := r.newActor()
	switch r.plan.Ending {
	case Drain:
		r.producers.Wait()
		r.awaitRest()
		r.checkCapacity(last)
		r.lastWave(last)
		r.drain(3)
	case DrainThenShutDown:
		r.producers.Wait()
		r.awaitRest()
		if last.chance(8) {
			r.lastWave(last)
			r.drainAndShutDown()
		} else {
			r.shutDownBesideAWorker(last)
		}
	case Storm:
		r.storm(last)
		r.producers.Wait()
	case DrainContext:
		r.drainByContext(last)
		r.producers.Wait()
	case Rest:
		r.producers.Wait()
		r.awaitRest()
		r.checkRest()
		r.checkCapacity(last)
		r.cycles(last)
		r.queue.ShutDown()
	}
	r.openGates()
	r.consumers.Wait()
}

// dropsDelayed reports whether the plan's ending drops delayed items.
func (p Plan) dropsDelayed() bool {
	return p.Ending == Storm || p.Ending == DrainContext && p.EndsEarly && p.Delayed == shardq.AwaitDelayed
}

// dropsDelays reports whether delayed adds may be dropped, or delayed items
// returned.
func (p Plan) dropsDelays() bool { return p.Ending == Storm || p.Ending == DrainContext }

// lastWave adds items for a drain to wait for.
func (r *round) lastWave(a *actor) {
	p := &producer{actor: a, last: true}
	for range min(2000, r.plan.Adds) {
		key := a.roll(r.plan.Keys)
		switch {
		case r.ledger == nil || classOf(key) == free:
			p.put(key, false)
		case classOf(key) == ordered:
			p.addOrdered(key)
		}
	}
}

// drain calls ShutDownWithDrain in several goroutines, each of which checks
// that the drain is over.
func (r *round) drain(callers int) {
	over := make(chan struct{})
	var watcher, all sync.WaitGroup
	watcher.Go(func() { r.releaseIfViolated(over) })
	for range callers {
		all.Go(func() {
			r.queue.ShutDownWithDrain()
			if !r.violated.stopped.Load() {
				r.checkDrained("C12", "ShutDownWithDrain")
			}
		})
	}
	all.Wait()
	close(over)
	watcher.Wait()
}

// releaseIfViolated ends drains in progress after a violation. Otherwise they
// might wait forever for workers that have wrongly left. A ShutDown before a
// drain begins does not end it, but a later one does.
func (r *round) releaseIfViolated(over <-chan struct{}) {
	for !closed(over) {
		if r.violated.stopped.Load() {
			r.queue.ShutDown()
		}
		pause()
	}
}

// checkDrained is called when a complete drain returned.
func (r *round) checkDrained(clause, by string) {
	over := now()
	if n := r.queue.Len(); n > 0 {
		r.violated.report(clause, -1, "%s returned with %d items ready", by, n)
	}
	if r.ledger == nil || r.mayEndTurns() {
		return
	}
	for key := range r.ledger.keys {
		if r.ledger.keys[key].owned.Load() != 0 {
			r.violated.reportAt(over, clause, key, "%s returned while a worker had key %d", by, key)
		}
	}
}

// drainAndShutDown runs a ShutDown together with two drains.
func (r *round) drainAndShutDown() {
	var all sync.WaitGroup
	for range 2 {
		all.Go(r.queue.ShutDownWithDrain)
	}
	for range r.plan.Seed % 100 {
		runtime.Gosched()
	}
	r.queue.ShutDown()
	all.Wait()
}

// storm shuts down from many goroutines while producers are at work.
func (r *round) storm(a *actor) {
	r.awaitSomeMoment(a)
	var all sync.WaitGroup
	for n := range 1 + a.roll(8) {
		drains := a.chance(2)
		all.Go(func() {
			for range 1 + n {
				if drains {
					r.queue.ShutDownWithDrain()
				} else {
					r.queue.ShutDown()
				}
			}
		})
	}
	all.Wait()
}

// awaitSomeMoment waits until producers have been at work for a while, or have
// ended.
func (r *round) awaitSomeMoment(a *actor) {
	produced := make(chan struct{})
	go func() { r.producers.Wait(); close(produced) }()
	from := r.progress.Load() + uint64(a.roll(r.plan.Adds))
	for r.progress.Load() < from && !closed(produced) {
		runtime.Gosched()
	}
}

// awaitRest waits until no item is ready, delayed or processing.
func (r *round) awaitRest() {
	r.delays.end()
	r.openGates()
	r.awaitDelays()
	for !r.atRest() && !r.violated.stopped.Load() {
		pause()
	}
	if _, ok := r.queue.stats(); !ok {
		time.Sleep(2 * longestDelay) // delayed items are invisible
		for r.queue.Len() > 0 && !r.violated.stopped.Load() {
			pause()
		}
	}
	r.checkGroupsGone("at rest")
}

// awaitDelays waits until a fake clock has passed all deadlines, when no more
// delays are added. Then no item is delayed: the end of a step expires delays,
// and no goroutine has to run (C19, C27).
func (r *round) awaitDelays() {
	if r.fake == nil {
		return
	}
	for due := r.fake.Now().Add(longestDelay + tick).UnixNano(); r.steppedTo.Load() < due; {
		pause()
	}
	if s, ok := r.queue.stats(); ok && s.Delayed > 0 {
		r.violated.report("C19", -1, "%d items are still delayed when the clock has passed all deadlines by a tick", s.Delayed)
	}
}

func (r *round) atRest() bool {
	if s, ok := r.queue.stats(); ok {
		return s.Ready+s.Delayed+s.Processing == 0
	}
	if r.ledger == nil {
		return r.queue.Len() == 0
	}
	for key := range r.ledger.keys {
		k := &r.ledger.keys[key]
		if k.owned.Load() != 0 || k.unserved() {
			return false
		}
	}
	return r.queue.Len() == 0
}
