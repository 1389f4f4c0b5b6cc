package timerwheel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// span returns 64^n, the width of a slot of level n.
func span(n int) uint64 { return 1 << (levelBits * n) }

// edgeStarts returns ticks that are near, far from and unaligned with edges of
// slots.
func edgeStarts() []uint64 {
	starts := []uint64{0, 1, 62, 63, 64, 65, 1_000_003, math.MaxUint64 - 200, math.MaxUint64 - span(3)}
	for n := range levels {
		starts = append(starts, span(n)-1, span(n), 3*span(n)-1)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		starts = append(starts, random.Uint64()>>random.IntN(64))
	}
	return starts
}

// edgeDeadlines returns 64^n-1, 64^n and 64^n+1 for each n, counted from 0 and
// from start, if they are after start.
func edgeDeadlines(start uint64) []uint64 {
	var deadlines []uint64
	for n := range levels {
		for _, edge := range []uint64{span(n) - 1, span(n), span(n) + 1} {
			if edge > start {
				deadlines = append(deadlines, edge)
			}
			if start+edge > start {
				deadlines = append(deadlines, start+edge)
			}
		}
	}
	return append(deadlines, math.MaxUint64)
}

// TestH21CascadeEdges lets deadlines at the edges of slots pass. An off-by-one
// in the sorting would fire some of them a slot too early or too late.
func TestH21CascadeEdges(t *testing.T) {
	for _, start := range edgeStarts() {
		t.Run(fmt.Sprintf("start=%d", start), func(t *testing.T) {
			for _, deadline := range edgeDeadlines(start) {
				tickByTick(t, start, deadline)
				jumpByJump(t, start, deadline)
			}
			allTogether(t, start)
		})
	}
}

// stepsOfOne exceeds the steps of a single timer through all levels: to open
// its slot and to sort it in each, to fire it, and to arrive.
const stepsOfOne = 2*levels + 2

// tickByTick jumps to a few ticks before the deadline and then advances by
// single ticks.
func tickByTick(t *testing.T, start, deadline uint64) {
	w := New(start)
	require.True(t, w.Schedule(1, deadline))
	var firedAt []uint64
	fire := func(uint32) { firedAt = append(firedAt, w.Now()) }
	for now := max(start, deadline-min(deadline, 130)); now < deadline; now++ {
		require.True(t, w.Advance(now, stepsOfOne, fire))
		require.Empty(t, firedAt, "from %d: due at %d, fired at %d", start, deadline, now)
	}
	require.True(t, w.Advance(deadline, stepsOfOne, fire))
	require.Equal(t, []uint64{deadline}, firedAt, "from %d", start)
	require.Zero(t, w.Len())
}

// jumpByJump advances to the ticks that Next returns. Advance never sorts a
// single timer on the way, because Next returns its deadline.
func jumpByJump(t *testing.T, start, deadline uint64) {
	w := New(start)
	w.Schedule(1, deadline)
	next, ok := w.Next()
	require.True(t, ok)
	require.Equal(t, deadline, next, "from %d", start)
	fired := 0
	require.True(t, w.Advance(next, stepsOfOne, func(uint32) { fired++ }))
	require.Equal(t, 1, fired, "from %d, due at %d", start, deadline)
}

// allTogether files all edges in one wheel and advances by Next.
func allTogether(t *testing.T, start uint64) {
	c := newChecked(t, start)
	distinct := map[uint64]bool{}
	for i, deadline := range edgeDeadlines(start) {
		c.schedule(uint32(i+1), deadline)
		distinct[deadline] = true
	}
	wakes := 0
	for {
		c.check()
		next, ok := c.wheel.Next()
		if !ok {
			break
		}
		c.arrive(next, math.MaxInt)
		wakes++
	}
	require.Empty(t, c.timers)
	require.LessOrEqual(t, wakes, len(distinct), "at most one wake-up per deadline")
}

// TestC22EndOfTime files timers at the last tick.
func TestC22EndOfTime(t *testing.T) {
	c := newChecked(t, 0)
	c.schedule(1, math.MaxUint64)
	c.schedule(2, math.MaxUint64-1)
	c.schedule(3, math.MaxInt64)
	for _, now := range []uint64{1, 1 << 32, math.MaxInt64 - 1} {
		c.arrive(now, 8)
		require.Equal(t, 3, c.wheel.Len(), "at %d", now)
	}
	c.arrive(math.MaxInt64, 8)
	require.Equal(t, 2, c.wheel.Len())
	c.arrive(math.MaxUint64-1, 8)
	require.Equal(t, 1, c.wheel.Len())
	next, ok := c.wheel.Next()
	require.True(t, ok)
	require.Equal(t, uint64(math.MaxUint64), next)
	c.arrive(math.MaxUint64, 8)
	require.Zero(t, c.wheel.Len())
	require.False(t, c.wheel.Schedule(1, math.MaxUint64), "no tick follows the last one")
}

// TestC22ZeroWheel uses a Wheel that was not made by New.
func TestC22ZeroWheel(t *testing.T) {
	var w Wheel
	require.Zero(t, w.Now())
	require.False(t, w.Schedule(1, 0), "0 has passed at 0")
	require.True(t, w.Schedule(1, math.MaxUint64))
	require.True(t, w.Advance(math.MaxUint64-1, 100, func(uint32) { t.Error("early") }))
	require.Equal(t, 1, w.Len())
}
