package harness

import (
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// In a round with the ingredient Pauses, an actor pauses and resumes the queue
// and the groups, and changes their rates, while other actors go on. It opens
// all gates after some time, or before the queue is brought to rest. From then
// on the queue must hand out what is ready, and become empty.
//
// Once ShutDown was called, Gets do not wait for what is paused. So consumers
// leave only when a Get that was called after the gates were opened has
// reported the shutdown.

// gates are what the actor and the checks know of pauses and rates.
type gates struct {
	stops  stops
	meters meters
	groups bool // the queue has groups
	// rates are the results of GroupRate. Elements are nil if there is no rate.
	rates   [mostGroups]atomic.Pointer[shardq.Rate]
	highest [targets]shardq.Rate // zero: there is no rate
	over    chan struct{}        // closed when the actor has to open the gates
	closing atomic.Bool          // over is closed, or is about to be
	open    chan struct{}        // closed when the gates are open
	opened  atomic.Int64         // the stamp after that, or 0
}

// newGates returns nil without the ingredient Pauses.
func newGates(p Plan) *gates {
	if !p.Mix.Has(Pauses) {
		return nil
	}
	g := &gates{groups: p.Mix.Has(Groups), over: make(chan struct{}), open: make(chan struct{})}
	d := dice{p.Seed ^ 0x2545f4914f6cdd1d}
	for target := range targets {
		if (target == wholeQueue || g.groups) && d.chance(2) {
			g.highest[target] = d.someRate()
		}
	}
	for group := range mostGroups {
		if rate := g.highest[group]; rate.PerSecond > 0 {
			g.rates[group].Store(&rate)
		}
	}
	return g
}

// askedRate is the GroupRate option.
func (g *gates) askedRate(name string) shardq.Rate {
	if group, known := groupNumber(name); known {
		if rate := g.rates[group].Load(); rate != nil {
			return *rate
		}
	}
	return shardq.Rate{}
}

// targetsOf returns the queue, and the group of a key if there are groups.
func (g *gates) targetsOf(key int) []int {
	if !g.groups {
		return []int{wholeQueue}
	}
	return []int{wholeQueue, key / 4 % mostGroups}
}

// meter begins to count for a target that has a rate.
func (r *round) meter(target int, from, after int64) {
	if r.ledger != nil {
		r.gates.meters[target].Store(&meter{rate: r.gates.highest[target], from: from, after: after})
	}
}

// ledgerTime returns the time by which stops and meters are measured.
func (r *round) ledgerTime() int64 {
	if r.ledger == nil {
		return 0
	}
	return r.ledger.time()
}

// meterGroups is called before the first add.
func (r *round) meterGroups() {
	for group := range mostGroups {
		if r.gates.highest[group].PerSecond > 0 {
			r.meter(group, r.ledgerTime(), -1)
		}
	}
}

// keepGates is the actor.
func (a *actor) keepGates(until <-chan struct{}) {
	a.changeGates()
	a.openAll()
	close(a.gates.open)
	a.checkOpened(until)
}

// changeGates pauses, resumes and changes rates for some time.
func (a *actor) changeGates() {
	g := a.gates
	if g.highest[wholeQueue].PerSecond > 0 {
		from := a.ledgerTime()
		a.queue.setRate(g.highest[wholeQueue])
		if s, _ := a.queue.stats(); !s.ShuttingDown { // a shutdown may have taken the rate away
			a.meter(wholeQueue, from, now())
		}
	}
	for turns := 50 + a.roll(1000); turns > 0 && !closed(g.over) && !a.violated.stopped.Load(); turns-- {
		a.operations++
		target := a.roll(targets)
		if !g.groups {
			target = wholeQueue
		}
		switch {
		case a.chance(3):
			a.changeRate(target)
		case g.stops[target].Load() == nil || a.chance(8):
			a.stop(target)
		default:
			a.resume(target)
		}
		pause()
	}
}

// stop pauses a group, with or without an end, or the queue.
func (a *actor) stop(target int) {
	g := a.gates
	g.stops[target].Store(nil) // the new pause replaces an earlier one
	ends := int64(untilResumed)
	switch {
	case target == wholeQueue:
		a.queue.pause()
	case a.chance(2):
		a.queue.pauseGroup(groupNames[target], time.Time{})
	default:
		until := a.clockTime().Add(time.Duration(a.roll(int(longestDelay))))
		a.queue.pauseGroup(groupNames[target], until)
		if a.ledger != nil {
			ends = a.ledger.at(until)
		}
	}
	g.stops[target].Store(&stop{since: now(), until: ends})
}

// clockTime returns the time of the queue's clock.
func (r *round) clockTime() time.Time {
	if r.fake != nil {
		return r.fake.Now()
	}
	return time.Now()
}

func (a *actor) resume(target int) {
	a.gates.stops[target].Store(nil)
	if target == wholeQueue {
		a.queue.resume()
	} else {
		a.queue.resumeGroup(groupNames[target])
	}
}

// changeRate changes a rate, if the target has one.
func (a *actor) changeRate(target int) {
	if a.gates.highest[target].PerSecond > 0 {
		a.setRate(target, slower(a.gates.highest[target], &a.dice))
	}
}

func (a *actor) setRate(target int, to shardq.Rate) {
	if target == wholeQueue {
		a.queue.setRate(to)
		return
	}
	a.gates.rates[target].Store(&to)
	for attempt(func() { a.queue.refreshGroup(groupNames[target]) }) != noPanic {
	}
}

// openAll ends all pauses and rates.
func (a *actor) openAll() {
	g := a.gates
	for target := range targets {
		if target != wholeQueue && !g.groups {
			continue
		}
		g.meters[target].Store(nil)
		a.setRate(target, shardq.Rate{})
		a.resume(target)
	}
	g.opened.Store(now())
}

// checkOpened checks that the queue hands out what is ready, now that the gates
// are open.
func (a *actor) checkOpened(until <-chan struct{}) {
	ready, progress, since := 0, uint64(0), time.Now()
	for !closed(until) && !a.violated.stopped.Load() {
		s, _ := a.queue.stats()
		switch done := a.progress.Load(); {
		case s.Ready == 0 || s.Processing > 0 || s.Ready != ready || done != progress:
			ready, progress, since = s.Ready, done, time.Now()
		case time.Since(since) > grace:
			a.violated.report("C68", -1, "all gates are open, and of %d ready items none was handed out for %v", ready, grace)
			a.queue.ShutDown() // consumers wait, perhaps
		}
		time.Sleep(time.Millisecond)
	}
}

// openGates makes the actor open the gates, and waits for that.
func (r *round) openGates() {
	if r.gates == nil {
		return
	}
	if r.gates.closing.CompareAndSwap(false, true) {
		close(r.gates.over)
	}
	<-r.gates.open
}

// mayBePaused reports whether something may be paused when a Get is called that
// has reported a shutdown.
func (r *round) mayBePaused(called int64) bool {
	if r.gates == nil {
		return false
	}
	opened := r.gates.opened.Load()
	return opened == 0 || called <= opened
}

// A leaver decides when a consumer leaves.
type leaver struct {
	sawOpen bool // the gates were open before the latest Get
}

// outlasts is called when a Get has reported the shutdown. It reports whether
// the consumer has to call Get again.
func (l *leaver) outlasts(r *round) bool {
	if r.gates == nil || l.sawOpen {
		return false
	}
	if l.sawOpen = closed(r.gates.open); !l.sawOpen {
		pause()
	}
	return true
}

// recordNothing records a Get that reported the shutdown, if it would have
// waited for all ready items.
func (a *actor) recordNothing(e event) {
	if !a.mayBePaused(e.call) {
		a.record(e)
	}
}
