package timerwheel

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestEarliest compares Earliest with a sort of all filed timers, also during
// an Advance, after a Rewind, and where Earliest visits all timers. It also
// checks that EarliestWithin visits no more timers than allowed.
func TestEarliest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, filed := New(0), map[uint32]uint64{}
		schedule := func(id uint32, deadline uint64) {
			if w.Schedule(id, deadline) {
				filed[id] = deadline
			} else {
				delete(filed, id)
			}
		}
		if rapid.Bool().Draw(t, "crowd") {
			for id := range uint32(ringLimit + 100) {
				schedule(1000+id, 1<<20+uint64(id*7919%5000))
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			id := uint32(rapid.IntRange(1, 40).Draw(t, "id"))
			ticks := rapid.OneOf(rapid.Uint64Range(1, 200), rapid.Uint64Range(1, 1<<21)).Draw(t, "ticks")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				w.Cancel(id)
				delete(filed, id)
			case 1: // rarely arrives, so that due timers stay filed
				w.Advance(w.Now()+ticks, rapid.IntRange(1, 20).Draw(t, "limit"), func(id uint32) { delete(filed, id) })
			case 2:
				w.Rewind(w.Now() - min(w.Now(), ticks))
			default:
				schedule(id, w.Now()+ticks)
			}
		}
		require.Equal(t, filed, maps.Collect(w.All()))

		n, even := rapid.IntRange(-1, 50).Draw(t, "n"), rapid.Bool().Draw(t, "even")
		wanted := func(id uint32) bool { return !even || id%2 == 0 }
		want := slices.DeleteFunc(slices.Collect(maps.Keys(filed)), func(id uint32) bool { return !wanted(id) })
		slices.SortFunc(want, func(a, b uint32) int { return cmp.Compare(filed[a], filed[b]) })
		want = want[:min(max(n, 0), len(want))]
		got := w.Earliest(n, wanted)
		require.Equal(t, deadlinesOf(filed, want), deadlinesOf(filed, got))
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(got))), len(got), "an id appears twice")
		for _, id := range got {
			require.True(t, wanted(id))
		}

		most, visited := rapid.IntRange(0, 100).Draw(t, "most"), 0
		within, ok := w.EarliestWithin(most, n, func(id uint32) bool {
			visited++
			return wanted(id)
		})
		require.LessOrEqual(t, visited, most)
		if ok {
			require.Equal(t, deadlinesOf(filed, want), deadlinesOf(filed, within))
		} else {
			require.Greater(t, len(filed), most)
		}
	})
}

func deadlinesOf(filed map[uint32]uint64, ids []uint32) []uint64 {
	deadlines := []uint64{}
	for _, id := range ids {
		deadlines = append(deadlines, filed[id])
	}
	return deadlines
}
