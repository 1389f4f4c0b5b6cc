package ticks

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq/clock"
)

const year = 365 * 24 * time.Hour

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// settableClock is a clock without timers.
type settableClock struct{ now time.Time }

func (c *settableClock) Now() time.Time                              { return c.now }
func (c *settableClock) AfterFunc(time.Duration, func()) clock.Timer { panic("no timers") }

// anyTick draws ticks that divide nothing evenly, and the shortest and the
// longest.
func anyTick() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{1, 3, time.Microsecond, time.Millisecond, 7 * time.Millisecond, time.Hour, math.MaxInt64}),
		rapid.Map(rapid.Int64Range(1, int64(time.Minute)), func(n int64) time.Duration { return time.Duration(n) }),
	)
}

// anyOffset draws how far a clock has gone since the origin: at most 146 years,
// and not before the start of the axis.
func anyOffset(base int64) *rapid.Generator[time.Duration] {
	far := rapid.Map(rapid.Int64Range(-base, center), func(n int64) time.Duration { return time.Duration(n) })
	near := rapid.SampledFrom([]time.Duration{0, 1, time.Hour, 100 * year, center, -1, -time.Hour, -100 * year})
	return rapid.OneOf(far, rapid.Map(near, func(d time.Duration) time.Duration { return max(d, -time.Duration(base)) }))
}

func anyDelay() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{1, 2, time.Millisecond - 1, time.Millisecond, time.Millisecond + 1, time.Hour, math.MaxInt64 - 1, math.MaxInt64}),
		rapid.Map(rapid.Int64Range(1, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) }),
	)
}

// drawBase returns a Base whose clock has moved away from the origin,
// and how far. It also returns the present, in nanoseconds after the start of
// the axis.
func drawBase(t *rapid.T) (b Base, c *settableClock, offset time.Duration, present *big.Int) {
	c = &settableClock{now: start}
	b = New(c, anyTick().Draw(t, "tick"))
	base := int64(b.Nanoseconds())
	offset = anyOffset(base).Draw(t, "offset")
	c.now = start.Add(offset)
	return b, c, offset, new(big.Int).Add(big.NewInt(base), big.NewInt(int64(offset)))
}

// TestDeadlineThenUntil: the timer for a delay is never set too short.
func TestDeadlineThenUntil(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, _, _, _ := drawBase(t)
		d := anyDelay().Draw(t, "delay")
		_, deadline := filingOf(b, d)
		left := b.Until(deadline)
		if left < d || left-d >= time.Duration(b.Tick) && left != math.MaxInt64 {
			t.Fatalf("for a delay of %v, the timer is set to %v; the tick is %v", d, left, time.Duration(b.Tick))
		}
	})
}

// TestClockOutOfRange: a clock that is set back or forward by centuries stands
// still for the queue at the end of the axis. Nothing overflows, and it comes
// back.
func TestClockOutOfRange(t *testing.T) {
	c := &settableClock{now: start}
	b := New(c, time.Millisecond)
	origin := b.Now()
	previous, end := uint64(0), math.MaxUint64/uint64(time.Millisecond) // more than the clock can show
	for _, years := range []int{-1000, -290, -147, -146, -1, 0, 1, 146, 147, 290, 1000} {
		c.now = start.AddDate(years, 0, 0)
		now, deadline := filingOf(b, math.MaxInt64)
		if now < previous || deadline <= now || deadline < min(now+uint64(291*year/time.Millisecond), end) {
			t.Errorf("%d years from the origin it is tick %d, and the farthest deadline is %d", years, now, deadline)
		}
		if years < 0 && now >= origin || years > 0 && now <= origin {
			t.Errorf("%d years from the origin it is tick %d, at the origin %d", years, now, origin)
		}
		previous = now
	}
}

// filingOf returns the present tick, and that of a delay of d.
func filingOf(b Base, d time.Duration) (now, deadline uint64) {
	start := b.Nanoseconds()
	return start / b.Tick, b.After(start, d)
}
