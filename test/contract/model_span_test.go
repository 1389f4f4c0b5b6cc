package contract

import (
	"math"
	"time"
)

// A span is a duration: a number of units.
type span struct {
	unit  byte // a letter of spanUnits
	count int
}

// With two units, the count chooses a duration. Edges are the durations around
// the powers of 64 ticks, where the levels of a timer wheel begin.
const edges, extremes = -1, 0

var spanUnits = []choice[func(tick time.Duration) time.Duration]{
	{'t', func(tick time.Duration) time.Duration { return tick }},
	{'q', func(tick time.Duration) time.Duration { return max(tick/4, 1) }}, // a quarter of it
	{'r', func(tick time.Duration) time.Duration { return 64 * tick }},      // a round of the wheel
	{'n', fixed(time.Nanosecond)},
	{'m', fixed(time.Millisecond)},
	{'s', fixed(time.Second)},
	{'H', fixed(time.Hour)},
	{'y', fixed(365 * 24 * time.Hour)},
	{'e', fixed(edges)},
	{'z', fixed(extremes)},
}

func fixed(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// in returns the duration for a queue with this tick.
func (s span) in(tick time.Duration) time.Duration {
	switch unit := choose(spanUnits, s.unit)(tick); unit {
	case edges:
		return edge(s.count, tick)
	case extremes:
		extremes := []time.Duration{0, -1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1, tick - 1, tick + 1, -tick}
		return extremes[modulo(s.count, len(extremes))]
	default:
		return times(unit, s.count)
	}
}

// edge returns a power of 64 ticks, or one tick less or more. Numbers 0 to 2
// are for the power 0, 3 to 5 for the power 1, and so on.
func edge(number int, tick time.Duration) time.Duration {
	number = modulo(number, 3*11)
	d := tick
	for range number / 3 {
		d = times(d, 64)
	}
	return max(d, tick) + time.Duration(number%3-1)*min(tick, endOfTime-d)
}

// times returns d·n, limited to the range of a Duration. d must be positive.
func times(d time.Duration, n int) time.Duration {
	switch most := int64(math.MaxInt64 / d); {
	case int64(n) > most:
		return math.MaxInt64
	case int64(n) < -most:
		return math.MinInt64
	default:
		return d * time.Duration(n)
	}
}

// modulo returns the remainder of n, at least 0.
func modulo(n, by int) int { return (n%by + by) % by }
