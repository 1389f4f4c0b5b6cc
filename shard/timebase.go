package shard

import (
	"math"
	"time"

	"github.com/shardq/shardq/clock"
)

// never is a tick that the clock never reaches.
const never = math.MaxUint64

// A timebase turns the clock's time into ticks, from when the queue was made.
type timebase struct {
	clock  clock.Clock
	origin time.Time
	tick   uint64 // nanoseconds
	middle uint64 // the origin in nanoseconds: a whole number of ticks, near center
	real   bool
	steps  bool // it moves when it is told to, as a clock.Fake
}

// center is 146 years. A clock may be set back by that much from when the queue
// was made, and forward by 292 years.
const center = 1 << 62

func newTimebase(c clock.Clock, tick time.Duration) timebase {
	_, steps := c.(interface{ Step(time.Duration) })
	return timebase{
		clock:  c,
		origin: c.Now(),
		tick:   uint64(tick),
		middle: center - center%uint64(tick),
		real:   c == clock.Real(),
		steps:  steps,
	}
}

// nanoseconds calls the user's clock, so no lock must be held.
func (t *timebase) nanoseconds() uint64 {
	if t.real {
		return t.middle + uint64(time.Since(t.origin)) // cheaper than time.Now
	}
	return t.momentOf(t.clock.Now())
}

func (t *timebase) momentOf(now time.Time) uint64 {
	return t.middle + uint64(max(now.Sub(t.origin), -time.Duration(t.middle)))
}

func (t *timebase) now() uint64 { return t.nanoseconds() / t.tick }

func (t *timebase) after(start uint64, d time.Duration) (tick uint64) {
	end := start + uint64(d)
	if end < start {
		end = math.MaxUint64 // beyond all that the clock can show
	}
	tick = end / t.tick
	if end%t.tick != 0 {
		tick++
	}
	return tick
}

func (t *timebase) ticks(d time.Duration) uint64 {
	return (uint64(max(d, 1)) + t.tick - 1) / t.tick
}

func (t *timebase) at(tick uint64) time.Time {
	end := uint64(math.MaxUint64)
	if tick <= end/t.tick {
		end = tick * t.tick
	}
	return t.moment(end)
}

// elapsed is 0 if the clock was set back.
func elapsed(from, to uint64) time.Duration {
	if to <= from {
		return 0
	}
	return time.Duration(min(to-from, math.MaxInt64))
}

func (t *timebase) moment(end uint64) time.Time {
	if end < t.middle {
		return t.origin.Add(-time.Duration(t.middle - end))
	}
	since := end - t.middle // may be more than a Duration holds
	return t.origin.Add(time.Duration(since / 2)).Add(time.Duration(since - since/2))
}

func (t *timebase) until(tick uint64) time.Duration { return t.left(t.nanoseconds(), tick) }

// left is 0 if the tick has begun.
func (t *timebase) left(now, tick uint64) time.Duration {
	if tick > math.MaxUint64/t.tick {
		return math.MaxInt64
	}
	at := tick * t.tick
	if at <= now {
		return 0
	}
	return time.Duration(min(at-now, math.MaxInt64))
}
