package line

import (
	"math"
	"math/bits"

	"github.com/shardq/shardq/stats"
)

// A Rate is kept by the generic cell rate algorithm (The ATM Forum, Traffic
// Management Specification 4.0, 1996): a token bucket in one word, the moment
// at which it is full again. A token moves that moment by an interval. The
// bucket has a token while the moment is less than a whole bucket away. So
// nothing has to be done while it fills. If the clock is set back, a bucket
// waits for it, as delays do.

type Rate struct {
	interval uint64 // the nanoseconds of one token
	burst    uint64 // the tokens in a full bucket
}

// mostInterval is 146 years, so that no sum with a moment overflows.
const mostInterval = 1 << 62

// RateOf returns a rate that never exceeds r. It panics if r has a fault.
func RateOf(r stats.Rate) Rate {
	if err := r.Validate(); err != nil {
		panic(err)
	}
	if r.PerSecond == 0 {
		return Rate{}
	}
	interval := uint64(mostInterval)
	if exact := math.Ceil(1e9 / r.PerSecond); exact < mostInterval {
		interval = max(1, uint64(exact))
	}
	return Rate{interval: interval, burst: uint64(max(1, r.Burst))}
}

func (r Rate) Public() stats.Rate {
	if !r.Limits() {
		return stats.Rate{}
	}
	return stats.Rate{PerSecond: 1e9 / float64(r.interval), Burst: int(r.burst)}
}

func (r Rate) Limits() bool { return r.interval != 0 }

func (r Rate) filling(n uint64) uint64 {
	high, low := bits.Mul64(r.interval, n)
	if high != 0 || low > mostInterval {
		return mostInterval
	}
	return low
}

func (r Rate) Opens(full uint64) uint64 {
	if !r.Limits() {
		return 0
	}
	return full - min(full, r.filling(r.burst-1))
}

// A consumer takes a token later than it is there: the driver frees a group at
// the next tick, and timers and consumers take time. A full bucket gains
// nothing meanwhile, so a rate near one item for each tick would not be
// reached. So the next token counts from when the bucket was full, at most
// madeUpFor ticks before. If it was full for longer, nobody has waited.
const (
	madeUpFor = 2 // one by which a wait is rounded up, one for timer and consumer
	rest      = 10
)

func (r Rate) Spend(full, now, tick uint64) uint64 {
	switch gap := now - min(full, now); {
	case gap > rest*tick:
		full = now
	case gap > madeUpFor*tick:
		full = now - madeUpFor*tick
	}
	return full + r.interval
}

// GiveBack undoes a Spend.
func (r Rate) GiveBack(full uint64) uint64 { return full - min(full, r.interval) }

// Convert returns the moment at which a bucket is full after a change to
// another rate. It keeps the number of tokens, so that a change makes none.
func (r Rate) Convert(full, now uint64, to Rate) uint64 {
	switch {
	case r == to:
		return full
	case !r.Limits() || !to.Limits() || full <= now && to.burst <= r.burst:
		return min(full, now)
	}
	left, debt := r.filling(r.burst), full-min(full, now)
	if debt > left { // the clock was set back
		now += debt - left
	}
	left -= min(left, debt)
	whole := to.filling(to.burst)
	high, low := bits.Mul64(left, to.interval)
	if high >= r.interval {
		return now
	}
	left, _ = bits.Div64(high, low, r.interval)
	return now + whole - min(left, whole)
}
