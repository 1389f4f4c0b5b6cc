package ticks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCoarseReadings: a reading that was overtaken replaces neither a later one
// nor the tick that an operation holds current.
func TestCoarseReadings(t *testing.T) {
	var c Coarse
	require.EqualValues(t, uint64(Never), c.Deadline(), "no reading is held")
	c.Update(0, 70, 7)
	require.EqualValues(t, 70, c.Now.Load())

	c.Live.Store(7)
	require.EqualValues(t, 8, c.Deadline(), "the end of the tick")
	c.Update(70, 75, 7)
	require.EqualValues(t, 7, c.Live.Load(), "within the tick")
	c.Update(70, 79, 7)
	require.EqualValues(t, 75, c.Now.Load(), "another read the clock meanwhile")

	c.Update(75, 80, 8)
	require.EqualValues(t, 80, c.Now.Load())
	require.Zero(t, c.Live.Load(), "the tick is over")

	c.Live.Store(9)
	c.Update(80, 50, 5) // the clock was set back
	require.Zero(t, c.Live.Load())
	c.Live.Store(5)
	c.Invalidate()
	require.EqualValues(t, uint64(Never), c.Deadline())
}
