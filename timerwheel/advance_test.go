package timerwheel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// span returns 64^n, the width of a slot of level n.
func span(n int) uint64 { return 1 << (levelBits * n) }

func TestScheduleZeroID(t *testing.T) {
	w := New(0)
	require.PanicsWithValue(t, "timerwheel: id is 0, want 1 or more", func() { w.Schedule(0, 1) })
	require.False(t, w.Cancel(0))
}
