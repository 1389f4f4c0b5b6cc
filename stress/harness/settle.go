package harness

import (
	"fmt"
	"runtime"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/shardq/shardq"
)

// settle checks a round that has ended. All other goroutines have left.
func (r *round) settle() *account {
	a := r.sum()
	if r.violated.stopped.Load() {
		return a // further violations would be consequences
	}
	if r.ledger != nil {
		r.ledger.settle()
		if r.fake == nil {
			a.lateness.merge(r.ledger.lateness)
		}
	}
	r.checkWorkers()
	r.checkCounts(a)
	r.checkLimiter(a)
	r.checkHistories(a)
	r.checkGoroutines()
	if !r.violated.stopped.Load() {
		r.close()
	}
	if r.plan.Ending == Rest {
		r.checkMemory()
	}
	return a
}

// sum adds up the records of all actors.
func (r *round) sum() *account {
	a := newAccount()
	a.rounds = 1
	for _, actor := range r.actors {
		a.operations += actor.operations
		a.gets += actor.gets
		a.dones += actor.dones
		a.asked.add(actor.asked)
	}
	return a
}

// checkRest is called when the queue was brought to rest without a shutdown.
func (r *round) checkRest() {
	s, ok := r.queue.stats()
	if n := r.queue.Len(); n != 0 || ok && s.Ready+s.Delayed+s.Processing != 0 {
		r.violated.report("C6", -1, "at rest, Len is %d, and Stats is %+v", n, s)
	}
	if r.fake != nil && r.fake.Timers() > 0 && !r.plan.Cancel && r.plan.Mix&(Cancels|Ages|Pauses|Windows) == 0 {
		r.violated.report("C25", -1, "at rest, %d timers are set", r.fake.Timers())
	}
}

// lateEnds returns the number of claims that a surplus Done had ended before
// their owner did, or while it did. The queue does not count such an end, and
// may not forget the item: checkLimiter compares the two.
func (r *round) lateEnds(a *account, s shardq.Stats) uint64 {
	if tooMany := a.dones - a.gets; r.mayEndClaims() && s.Misused < tooMany {
		return tooMany - s.Misused
	}
	return 0
}

func (r *round) mayEndClaims() bool {
	return r.plan.Mix.Has(Misuse) && r.plan.Mix&(Workers|Claims) != 0
}

// checkCounts compares the queue's counters with the records.
func (r *round) checkCounts(a *account) {
	s, ok := r.queue.stats()
	if !ok {
		if n := r.queue.Len(); n != 0 {
			r.violated.report("C12", -1, "%d items are ready when all consumers have left", n)
		}
		return
	}
	a.deduplicated, a.expired = s.Deduplicated, s.Expired
	if s.Ready != 0 || s.Processing != 0 || s.Delayed != 0 {
		r.violated.report("C12", -1, "when all consumers have left, Stats is %+v", s)
	}
	if s.Added != a.gets+a.withdrawn {
		r.violated.report("C3", -1, "%d adds asked for a run, %d of them were canceled, and there were %d runs", s.Added, a.withdrawn, a.gets)
	}
	if s.Canceled != a.cancels {
		r.violated.report("C39", -1, "%d Cancels said that they took something back, and %d are counted", a.cancels, s.Canceled)
	}
	if s.Misused+r.lateEnds(a, s) != a.dones-a.gets {
		r.violated.report("C15", -1, "%d Dones for %d runs, and %d counted as misuse", a.dones, a.gets, s.Misused)
	}
	if s.Rejected != r.unequal.Load() {
		r.violated.report("C16", -1, "%d adds of impossible items, and %d counted as rejected", r.unequal.Load(), s.Rejected)
	}
	r.checkOverCapacity(a, s.OverCapacity)
	r.checkMetrics(a, s)
	r.checkGroupsGone("when all consumers have left")
	if fault := a.disagreement(s, r.plan.dropsDelays()); fault != "" {
		r.violated.report("Stats", -1, "%s: Stats is %+v, and the calls were %+v", fault, s, a.asked)
	}
}

// disagreement returns the fault in the counters of adds at the end of a round.
//
// An immediate add is Added, Deduplicated or Dropped. A delayed add is dropped,
// joins a running delay (which is not counted), or begins one. That delay
// expires, as Expired and as Added or Deduplicated, is dropped at the shutdown,
// or is canceled. In most endings no item is delayed at the shutdown, and
// nothing is added with a delay after it. An AddWith without a delay is an
// immediate add, or leaves the item delayed.
func (a *account) disagreement(s shardq.Stats, delayedDropped bool) string {
	atOnce := s.Added + s.Deduplicated - s.Expired // those that were not dropped
	switch {
	case s.Expired+a.calledOff > a.deferred:
		return "more delays expired than began"
	case s.Expired < a.delayedGets:
		return "fewer delays expired than keys were handed out that are added with delays only"
	case s.Added+s.Deduplicated < s.Expired:
		return "not every delay that expired is Added or Deduplicated"
	case !delayedDropped && (atOnce+s.Dropped < a.immediate || atOnce+s.Dropped > a.immediate+a.perhaps):
		return "Added + Deduplicated - Expired + Dropped are not the adds at once"
	case atOnce > a.immediate+a.perhaps:
		return "Added + Deduplicated - Expired are more than the adds at once"
	case atOnce < a.sure:
		return "Added + Deduplicated - Expired are fewer than the adds at once before the shutdown"
	case atOnce+s.Dropped < a.immediate:
		return "Added + Deduplicated - Expired + Dropped are fewer than the adds at once"
	case s.Added+s.Deduplicated+s.Dropped > a.immediate+a.deferred+a.perhaps:
		return "Added + Deduplicated + Dropped are more than all adds"
	}
	return ""
}

func (r *round) recorders() (all []*recorder) {
	for _, a := range r.actors {
		all = append(all, &a.recorder)
	}
	return all
}

// checkHistories checks the histories of the watched keys.
func (r *round) checkHistories(a *account) {
	if r.pool != nil {
		return // the calls of workers are invisible
	}
	for _, key := range watchedKeys {
		if key >= r.plan.Keys {
			continue
		}
		history := historyOf(key, r.recorders())
		if len(history) == 0 {
			continue
		}
		end := now()
		history = append(history, event{operation: opRest, key: int32(key), actor: -1, call: end, end: end + 1})
		a.histories++
		r.progress.Add(1)
		switch check(fromIdle, history) {
		case porcupine.Unknown:
			a.undecided++
		case porcupine.Illegal:
			wrong := minimise(history)
			r.violated.explained(clauseOf(wrong[len(wrong)-1]), key,
				fmt.Sprintf("the history of key %d has no order that makes sense", key),
				"this part of the history is enough:\n"+list(wrong))
		}
	}
}

// clauseOf names the promise that is broken if a history fails at an event.
func clauseOf(e event) string {
	switch e.operation {
	case opRest:
		return "C2"
	case opGetNothing:
		return "C10"
	case opCancel:
		return "C39"
	case opEnd, opRelease:
		return "C60"
	default:
		return "C3"
	}
}

// leavingTime is the time in which goroutines must end. client-go's need up to
// 10 s.
var leavingTime = 15 * time.Second

// checkGoroutines waits for goroutines that are ending, and reports those that
// stay.
func (r *round) checkGoroutines() {
	for deadline := time.Now().Add(leavingTime); runtime.NumGoroutine() > r.goroutines; {
		if time.Now().After(deadline) {
			r.violated.report("C14", -1, "%d goroutines are left:\n%s",
				runtime.NumGoroutine()-r.goroutines, stacks())
			return
		}
		r.progress.Add(1)
		time.Sleep(time.Millisecond)
	}
}
