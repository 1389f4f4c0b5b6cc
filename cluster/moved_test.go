package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(16)
		turn := func() bool {
			select {
			case <-c.turn:
				return true
			default:
				return false
			}
		}
		run := func(held int) bool { c.ran(held); return turn() }
		require.False(t, run(7))
		require.True(t, run(8))
		hears, changed := c.listens(8)
		require.True(t, hears && changed)
		_, changed = c.listens(8)
		require.False(t, changed)

		// Keys that are added again take turns, as they came.
		for _, key := range []string{"once", "a", "b", "b", "a", "b"} {
			c.hear(key)
		}
		for range 2 * movedRuns {
			require.False(t, run(8), "too soon")
		}
		time.Sleep(movedPause) // in the bubble
		require.True(t, run(8))
		for _, want := range []string{"b", "a"} {
			key, ok := c.next()
			require.True(t, ok)
			require.Equal(t, want, key)
		}
		c.hear("a") // known no more: it was taken
		_, ok := c.next()
		require.False(t, ok)
		time.Sleep(movedPause)
		require.False(t, run(8), "nobody waits")

		// What it knows is bounded.
		for i := range 10 * maxHeard {
			c.hear(fmt.Sprint(i))
		}
		require.LessOrEqual(t, len(c.heard)+len(c.before), 2*maxHeard)
		for i := 10*maxHeard - maxHeard; i < 10*maxHeard; i++ {
			c.hear(fmt.Sprint(i))
		}
		require.Len(t, c.moved, maxMoved)

		time.Sleep(movedPause)
		for range movedRuns - 2 {
			require.False(t, run(2), "the crowd goes on, and it is too soon")
		}
		require.True(t, run(1), "the crowd is over")
		hears, changed = c.listens(1)
		require.True(t, !hears && changed)
		require.Empty(t, c.moved)
		require.False(t, run(7))
	})
}
