package timerwheel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// span returns 64^n, the width of a slot of level n.
func span(n int) uint64 { return 1 << (levelBits * n) }

// edgeStarts returns ticks that are near, far from and unaligned with edges of
// slots.
func edgeStarts() []uint64 {
	starts := []uint64{0, 1, 62, 63, 64, 65, 1_000_003, 1<<40 + 12_345_678, math.MaxUint64 - 200, math.MaxUint64 - span(3)}
	for n := range levels {
		starts = append(starts, span(n)-1, span(n), 3*span(n)-1)
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
				oneByOne(t, start, deadline)
			}
			allTogether(t, start)
		})
	}
}

// stepsOfOne exceeds the steps of a single timer through all levels: to open
// its slot and to sort it in each, to fire it, and to arrive.
const stepsOfOne = 2*levels + 2

// oneByOne advances to the tick before the deadline and then by one. Next
// returns the deadline all the while.
func oneByOne(t *testing.T, start, deadline uint64) {
	w := New(start)
	require.True(t, w.Schedule(1, deadline))
	for _, now := range []uint64{start, max(start, deadline-1)} {
		require.True(t, w.Advance(now, stepsOfOne, nil), "from %d: due at %d, fired at %d", start, deadline, now)
		next, ok := w.Next()
		require.True(t, ok)
		require.Equal(t, deadline, next, "from %d", start)
	}
	fired := 0
	require.True(t, w.Advance(deadline, stepsOfOne, func(uint32) { fired++ }))
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
