package traffic

import (
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stress/ledger"
)

// gates are what holds keys back: pauses, rates and limits. A target is a group,
// or Whole, the queue.
type gates struct {
	books  *ledger.Gates
	rate   []shardq.Rate // the highest; none if it is 0
	rates  []atomic.Pointer[shardq.Rate]
	limits []atomic.Int32
}

func newGates(p *Plan) *gates {
	n := p.groups + 1
	g := &gates{ledger.NewGates(n, p.groupOf), make([]shardq.Rate, n), make([]atomic.Pointer[shardq.Rate], n), make([]atomic.Int32, n)}
	g.books.Slack = 2 * p.tick
	for target := range n {
		g.books.Limits[target] = int32(p.limitOf(target))
		g.limits[target].Store(int32(p.limitOf(target)))
		g.rates[target].Store(&shardq.Rate{})
		if draw := int(p.Seed) + target; p.has(rates) && draw%3 > 0 {
			g.rate[target] = shardq.Rate{
				PerSecond: []float64{1000, 4000, 20_000}[draw/3%3], Burst: []int{1, 8, 64}[draw/9%3],
			}
		}
	}
	return g
}

// keepGates pauses, resumes, and changes rates, limits and the number of
// workers. It opens all gates before it returns.
func (a *actor) keepGates(stop <-chan struct{}) {
	for !closed(stop) && !a.found.Any() {
		target := a.IntN(a.plan.groups + 1)
		switch what, limit := a.IntN(4), a.gates.books.Limits[target]; {
		case what == 0 && a.pool != nil:
			a.pool.Resize(1 + a.IntN(2*a.plan.consumers))
		case what == 1 && target != ledger.Whole && limit > 0:
			a.gates.limits[target].Store(1 + a.Int32N(limit))
			a.queue.RefreshGroup(groupName(target))
		case what == 2:
			a.changeRate(target, 1+a.IntN(2), a.chance(2))
		case a.plan.has(pauses) && (!a.gates.books.Paused(target) || a.chance(8)):
			a.pause(target)
		case a.plan.has(pauses):
			a.resume(target)
		}
		yield()
	}
	a.openGates()
}

// changeRate sets a rate to a part of the highest. Sometimes the ledger starts
// to count anew, because a bound for a short time is narrow. After a shutdown
// the queue takes no new rate.
func (a *actor) changeRate(target, part int, anew bool) {
	highest := a.gates.rate[target]
	if highest.PerSecond == 0 {
		return
	}
	a.setRate(target, shardq.Rate{PerSecond: highest.PerSecond / float64(part), Burst: highest.Burst})
	if anew && !a.queue.ShuttingDown() {
		a.gates.books.Meter(target, highest, a.now)
	}
}

func (r *round) setRate(target int, rate shardq.Rate) {
	if target == ledger.Whole {
		r.queue.SetRate(rate)
		return
	}
	r.gates.rates[target].Store(&rate)
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

func (r *round) openGates() {
	for target := range r.plan.groups + 1 {
		r.gates.books.Unmeter(target)
		r.gates.limits[target].Store(r.gates.books.Limits[target])
		r.resume(target)
		r.setRate(target, shardq.Rate{})
	}
}
