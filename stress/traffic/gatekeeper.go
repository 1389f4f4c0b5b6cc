package traffic

import (
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stress/ledger"
)

// gates are the pauses and the rates of a round: those of the queue, which is
// the target Whole, and those of the groups.
type gates struct {
	books *ledger.Gates
	// highest is the rate that a target has at most. It has none if that is 0.
	highest []shardq.Rate
	current []atomic.Pointer[shardq.Rate]
}

func newGates(p *Plan) *gates {
	targets := p.groups + 1
	g := &gates{
		books: ledger.NewGates(targets, p.groupOf), highest: make([]shardq.Rate, targets),
		current: make([]atomic.Pointer[shardq.Rate], targets),
	}
	g.books.Slack = 2 * p.tick
	for target := range targets {
		g.books.Limits[target] = int32(p.limitOf(target))
		if p.has(rates) && (int(p.Seed)+target)%3 > 0 {
			g.highest[target] = shardq.Rate{
				PerSecond: []float64{1000, 4000, 20_000}[(int(p.Seed/3)+target)%3],
				Burst:     []int{1, 8, 64}[(int(p.Seed/9)+target)%3],
			}
		}
	}
	return g
}

// rateNow is the rate of a group.
func (g *gates) rateNow(target int) shardq.Rate {
	if rate := g.current[target].Load(); rate != nil {
		return *rate
	}
	return shardq.Rate{}
}

// groupLimits are the limits of groups, which change.
type groupLimits struct {
	greatest []int
	current  []atomic.Int32
}

func newGroupLimits(p *Plan) *groupLimits {
	l := &groupLimits{greatest: make([]int, p.groups+1), current: make([]atomic.Int32, p.groups+1)}
	for group := range l.greatest {
		l.greatest[group] = p.limitOf(group)
		l.current[group].Store(int32(l.greatest[group]))
	}
	return l
}

func (l *groupLimits) now(group int) int { return int(l.current[group].Load()) }

// keepGates pauses, resumes, and changes rates, limits and the number of
// workers. It opens all gates before it returns.
func (a *actor) keepGates(stop <-chan struct{}) {
	a.giveRates()
	for !closed(stop) && !a.found.Any() {
		target := a.IntN(a.plan.groups + 1)
		switch what := a.IntN(4); {
		case what == 0 && a.pool != nil:
			a.pool.Resize(1 + a.IntN(2*a.plan.consumers))
		case what == 1 && target != ledger.Whole && a.limits.greatest[target] > 0:
			a.limits.current[target].Store(int32(1 + a.IntN(a.limits.greatest[target])))
			a.queue.RefreshGroup(groupName(target))
		case what == 2 && a.gates.highest[target].PerSecond > 0:
			a.changeRate(target)
		case a.plan.has(pauses) && (!a.gates.books.Paused(target) || a.chance(8)):
			a.pause(target)
		case a.plan.has(pauses):
			a.resume(target)
		}
		yield()
	}
	a.openGates()
}

// giveRates gives each target its rate, and lets the ledger count.
func (a *actor) giveRates() {
	for target, rate := range a.gates.highest {
		if rate.PerSecond == 0 || a.queue.ShuttingDown() {
			continue
		}
		a.setRate(target, rate)
		if !a.queue.ShuttingDown() { // after a shutdown there is no new rate
			a.gates.books.Meter(target, rate, a.now)
		}
	}
}

// changeRate lowers the rate, or raises it again. Sometimes the ledger starts
// to count anew, because a bound for a short time is narrow.
func (a *actor) changeRate(target int) {
	rate := a.gates.highest[target]
	rate.PerSecond /= float64(1 + a.IntN(2))
	a.setRate(target, rate)
	if a.chance(2) && !a.queue.ShuttingDown() {
		a.gates.books.Meter(target, a.gates.highest[target], a.now)
	}
}

func (r *round) setRate(target int, rate shardq.Rate) {
	if target == ledger.Whole {
		r.queue.SetRate(rate)
		return
	}
	r.gates.current[target].Store(&rate)
	r.queue.RefreshGroup(groupName(target))
}

func (a *actor) pause(target int) {
	a.gates.books.Reopened(target) // the new pause replaces an earlier one
	until := int64(ledger.Forever)
	switch {
	case target == ledger.Whole:
		a.queue.Pause()
	case a.chance(2):
		a.queue.PauseGroup(groupName(target), time.Time{})
	default:
		length := a.upTo(longest)
		until = a.now() + int64(length)
		a.queue.PauseGroup(groupName(target), a.clock().Now().Add(length))
	}
	a.gates.books.Stopped(target, until)
}

func (r *round) resume(target int) {
	r.gates.books.Reopened(target)
	if target == ledger.Whole {
		r.queue.Resume()
	} else {
		r.queue.ResumeGroup(groupName(target))
	}
}

// openGates ends all pauses and rates, and sets the greatest limits.
func (r *round) openGates() {
	for target := range r.plan.groups + 1 {
		r.gates.books.Unmeter(target)
		r.resume(target)
		if r.gates.highest[target].PerSecond > 0 {
			r.setRate(target, shardq.Rate{})
		}
		if greatest := r.limits.greatest[target]; greatest > 0 && target != ledger.Whole {
			r.limits.current[target].Store(int32(greatest))
			r.queue.RefreshGroup(groupName(target))
		}
	}
}
