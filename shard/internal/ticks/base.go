package ticks

import (
	"math"
	"time"

	"github.com/shardq/shardq/clock"
)

// Never is a tick that the clock never reaches.
const Never = math.MaxUint64

// A Base turns the clock's time into ticks, from when the queue was made.
type Base struct {
	Clock  clock.Clock
	origin time.Time
	Tick   uint64 // nanoseconds
	middle uint64 // the origin in nanoseconds: a whole number of ticks, near center
	real   bool
	Steps  bool // the clock moves only when it is told to, as a clock.Fake does
}

// center is 146 years. A clock may be set back by that much from when the queue
// was made, and forward by 292 years.
const center = 1 << 62

func New(c clock.Clock, tick time.Duration) Base {
	_, steps := c.(interface{ Step(time.Duration) })
	return Base{
		Clock:  c,
		origin: c.Now(),
		Tick:   uint64(tick),
		middle: center - center%uint64(tick),
		real:   c == clock.Real(),
		Steps:  steps,
	}
}

// Nanoseconds calls the user's clock, so no lock must be held.
func (t *Base) Nanoseconds() uint64 {
	if t.real {
		return t.middle + uint64(time.Since(t.origin)) // cheaper than time.Now
	}
	return t.MomentOf(t.Clock.Now())
}

func (t *Base) MomentOf(now time.Time) uint64 {
	return t.middle + uint64(max(now.Sub(t.origin), -time.Duration(t.middle)))
}

func (t *Base) Now() uint64 { return t.Nanoseconds() / t.Tick }

func (t *Base) After(start uint64, d time.Duration) (tick uint64) {
	end := start + uint64(d)
	if end < start {
		end = math.MaxUint64 // beyond all that the clock can show
	}
	tick = end / t.Tick
	if end%t.Tick != 0 {
		tick++
	}
	return tick
}

func (t *Base) Ticks(d time.Duration) uint64 {
	return (uint64(max(d, 1)) + t.Tick - 1) / t.Tick
}

func (t *Base) At(tick uint64) time.Time {
	end := uint64(math.MaxUint64)
	if tick <= end/t.Tick {
		end = tick * t.Tick
	}
	return t.Moment(end)
}

// Elapsed returns the time between two moments, or 0 if the clock was set back.
func Elapsed(from, to uint64) time.Duration {
	if to <= from {
		return 0
	}
	return time.Duration(min(to-from, math.MaxInt64))
}

func (t *Base) Moment(end uint64) time.Time {
	if end < t.middle {
		return t.origin.Add(-time.Duration(t.middle - end))
	}
	since := end - t.middle // may be more than a Duration holds
	return t.origin.Add(time.Duration(since / 2)).Add(time.Duration(since - since/2))
}

func (t *Base) Until(tick uint64) time.Duration { return t.Left(t.Nanoseconds(), tick) }

// Left returns the time until a tick begins, or 0 if it has begun.
func (t *Base) Left(now, tick uint64) time.Duration {
	if tick > math.MaxUint64/t.Tick {
		return math.MaxInt64
	}
	at := tick * t.Tick
	if at <= now {
		return 0
	}
	return time.Duration(min(at-now, math.MaxInt64))
}

func (t *Base) TickAt(moment uint64) uint64 {
	if moment == math.MaxUint64 {
		return Never
	}
	return t.After(moment, 0)
}
