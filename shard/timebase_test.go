package shard

import (
	"math"
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq/clock"
)

const year = 365 * 24 * time.Hour

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

// drawTimebase returns a timebase whose clock has moved away from the origin,
// and how far. It also returns the present, in nanoseconds after the start of
// the axis.
func drawTimebase(t *rapid.T) (b timebase, c *settableClock, offset time.Duration, present *big.Int) {
	c = &settableClock{now: start}
	b = newTimebase(c, anyTick().Draw(t, "tick"))
	base := int64(b.nanoseconds())
	offset = anyOffset(base).Draw(t, "offset")
	c.now = start.Add(offset)
	return b, c, offset, new(big.Int).Add(big.NewInt(base), big.NewInt(int64(offset)))
}

// atTick returns when a tick begins, with numbers that do not overflow.
func atTick(b timebase, tick uint64) *big.Int {
	n := new(big.Int).SetUint64(tick)
	return n.Mul(n, new(big.Int).SetUint64(b.tick))
}

// TestDeadline: a deadline is never early, and less than a tick late.
func TestDeadline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, _, _, present := drawTimebase(t)
		d := anyDelay().Draw(t, "delay")
		now, deadline := filingOf(b, d)
		if now != b.now() {
			t.Fatalf("deadline says that it is tick %d, now %d", now, b.now())
		}
		end := new(big.Int).Add(present, big.NewInt(int64(d)))
		at := atTick(b, deadline)
		if at.Cmp(end) < 0 {
			t.Fatalf("a delay that ends at %v has its deadline at %v: early", end, at)
		}
		if before := atTick(b, deadline-1); before.Cmp(end) >= 0 {
			t.Fatalf("a delay that ends at %v has its deadline at %v, a tick late", end, at)
		}
		if deadline <= now {
			t.Fatalf("at tick %d the deadline is %d", now, deadline)
		}
	})
}

// TestNow: now is the tick that has begun, and not the next.
func TestNow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, _, _, present := drawTimebase(t)
		now := b.now()
		if atTick(b, now).Cmp(present) > 0 || atTick(b, now+1).Cmp(present) <= 0 {
			t.Fatalf("at %v it is tick %d of %v", present, now, time.Duration(b.tick))
		}
	})
}

// TestUntil: a clock that moves by until(tick) reaches the tick, and one that
// moves by a nanosecond less does not.
func TestUntil(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, c, _, _ := drawTimebase(t)
		now := b.now()
		tick := rapid.OneOf(
			rapid.Map(rapid.Uint64Range(0, 1000), func(n uint64) uint64 { return now + n }),
			rapid.Uint64(),
			rapid.SampledFrom([]uint64{never / b.tick, never/b.tick + min(1, never-never/b.tick), never}),
		).Draw(t, "tick")
		d := b.until(tick)
		switch {
		case d < 0:
			t.Fatalf("tick %d is %v away", tick, d)
		case (d == 0) != (tick <= now):
			t.Fatalf("at tick %d, tick %d is %v away", now, tick, d)
		case d == 0 || !reaches(c, d):
			return
		}
		c.now = c.now.Add(d - 1)
		if b.now() >= tick {
			t.Fatalf("%v and less brings tick %d already", d, tick)
		}
		c.now = c.now.Add(1)
		if b.now() < tick && d < math.MaxInt64 {
			t.Fatalf("%v does not bring tick %d, but %d", d, tick, b.now())
		}
	})
}

// reaches reports whether the clock may go on by d and still be on the axis.
func reaches(c *settableClock, d time.Duration) bool {
	return c.now.Sub(start) <= 0 || d <= center-c.now.Sub(start)
}

// TestDeadlineThenUntil: the timer for a delay is never set too short.
func TestDeadlineThenUntil(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, _, _, _ := drawTimebase(t)
		d := anyDelay().Draw(t, "delay")
		_, deadline := filingOf(b, d)
		left := b.until(deadline)
		if left < d || left-d >= time.Duration(b.tick) && left != math.MaxInt64 {
			t.Fatalf("for a delay of %v, the timer is set to %v; the tick is %v", d, left, time.Duration(b.tick))
		}
	})
}

// TestDeadlinesAreOrdered: a longer delay never has an earlier deadline.
func TestDeadlinesAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, c, offset, _ := drawTimebase(t)
		d := anyDelay().Draw(t, "delay")
		_, first := filingOf(b, d)
		more := rapid.Int64Range(0, min(math.MaxInt64-int64(d), center)).Draw(t, "more")
		if _, second := filingOf(b, d+time.Duration(more)); second < first {
			t.Fatalf("%v has deadline %d, but %v more has %d", d, first, time.Duration(more), second)
		}
		if later := time.Duration(more); offset <= 0 {
			c.now = c.now.Add(later)
			if _, second := filingOf(b, d); second < first {
				t.Fatalf("%v has deadline %d, and %v later %d", d, first, later, second)
			}
		}
	})
}

// TestClockOutOfRange: a clock that is set back or forward by centuries stands
// still for the queue at the end of the axis. Nothing overflows, and it comes
// back.
func TestClockOutOfRange(t *testing.T) {
	c := &settableClock{now: start}
	b := newTimebase(c, time.Millisecond)
	origin := b.now()
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

// TestRealTimebase reads the clock of package time, here that of a bubble.
func TestRealTimebase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTimebase(clock.Real(), time.Millisecond)
		before := b.now()
		time.Sleep(5 * time.Second)
		if ticks := b.now() - before; ticks != 5000 {
			t.Errorf("5 s are %d ticks of 1 ms", ticks)
		}
		if now, deadline := filingOf(b, time.Second); deadline-now-1000 > 1 {
			t.Errorf("a second from tick %d is tick %d", now, deadline)
		}
	})
}

// TestTicksStartAtOrigin: a test that steps a clock by whole ticks need not
// step it once more.
func TestTicksStartAtOrigin(t *testing.T) {
	for _, tick := range []time.Duration{1, 3, time.Millisecond, 7 * time.Millisecond, time.Hour} {
		c := clock.NewFake(start)
		s := newTestSet(t, Config[int]{Clock: c, Tick: tick})
		for range 3 {
			s.AddAfter(1, 2*tick)
			c.Step(2 * tick)
			if item, _, _, _ := s.TryTake(); item != 1 {
				t.Errorf("ticks of %v: not ready after two of them", tick)
			}
			s.Done(1)
		}
	}
}

// filingOf returns the present tick, and that of a delay of d.
func filingOf(b timebase, d time.Duration) (now, deadline uint64) {
	start := b.nanoseconds()
	at := reading{now: start / b.tick, nanoseconds: start}
	return at.now, b.filing(Delay{Duration: d}, at).deadline
}
