package harness

import (
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// Rates of groups and of the queue (C67, C69). In any t seconds at most
// Burst + PerSecond · (t + two ticks) items are handed out. A slow machine
// cannot break this bound: the time begins before the first Get that counts,
// and is read after the last.
//
// The rates change meanwhile. Their Burst stays the same, so that a change
// makes no tokens, and no rate is above the one that the bound is about.

// A meter counts what is handed out at a rate.
type meter struct {
	rate  shardq.Rate // the highest
	from  int64       // the ledger's time before the rate began
	after int64       // the stamp after it began: Gets that were called later count
	taken atomic.Int64
}

// most returns the number of items that may be handed out until a time.
func (m *meter) most(until int64) float64 {
	return float64(m.rate.Burst) + m.rate.PerSecond*(time.Duration(until-m.from)+2*tick).Seconds() + 1
}

// meters count while there is a rate.
type meters [targets]atomic.Pointer[meter]

// checkRates is called after a Get, with the stamp of its call.
func (l *ledger) checkRates(key int, called int64) {
	if l.gates == nil {
		return
	}
	for _, target := range l.gates.targetsOf(key) {
		m := l.gates.meters[target].Load()
		if m == nil || called <= m.after {
			continue
		}
		taken := m.taken.Add(1)
		if l.gates.meters[target].Load() != m {
			continue // the rate has ended, perhaps before the last items were taken
		}
		if most := m.most(l.time()); float64(taken) > most {
			clause := "C67"
			if target == wholeQueue {
				clause = "C69"
			}
			l.violated.report(clause, key, "with key %d, %d items of %s were handed out; its rate of %v allows %.1f",
				key, taken, nameOfTarget(target), m.rate, most)
		}
	}
}

// someRate draws the highest rate of a target. It is below what a machine can
// do, so that the rate matters.
func (d *dice) someRate() shardq.Rate {
	return shardq.Rate{
		PerSecond: [...]float64{1000, 5000, 20_000}[d.roll(3)],
		Burst:     [...]int{1, 8, 64}[d.roll(3)],
	}
}

// slower returns the rate, or a lower one with the same Burst.
func slower(r shardq.Rate, d *dice) shardq.Rate {
	r.PerSecond /= float64(1 + d.roll(4))
	return r
}
