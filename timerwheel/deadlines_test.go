package timerwheel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDeadlines: the chunks contain the deadlines of all filed timers, and no
// others.
func TestDeadlines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, want := New(0), map[uint32]uint64{}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			id := uint32(rapid.SampledFrom([]int{1, 2, 3, 500, 511, 512, 513, 1023, 1024, 5000}).Draw(t, "id"))
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				w.Cancel(id)
				delete(want, id)
			case 1:
				w.Advance(w.Now()+rapid.Uint64Range(0, 5000).Draw(t, "ticks"), 1<<20, func(id uint32) { delete(want, id) })
			default:
				if deadline := w.Now() + rapid.Uint64Range(1, 10_000).Draw(t, "deadline"); w.Schedule(id, deadline) {
					want[id] = deadline
				}
			}
		}
		var all, chunk []uint64
		for number := range w.Chunks() {
			chunk = w.Deadlines(number, chunk[:0])
			require.LessOrEqual(t, len(chunk), ChunkSize)
			all = append(all, chunk...)
		}
		wanted := []uint64{}
		for _, deadline := range want {
			wanted = append(wanted, deadline)
		}
		slices.Sort(all)
		slices.Sort(wanted)
		require.True(t, slices.Equal(wanted, all), "%v are there, not %v", all, wanted)
	})
}

// TestDeadlinesOfAMissingPart: Deadlines appends nothing.
func TestDeadlinesOfAMissingPart(t *testing.T) {
	w := New(0)
	w.Schedule(10*ChunkSize, 5)
	last := w.Chunks() - 1
	require.Equal(t, []uint64{5}, w.Deadlines(last, nil))
	w.Cancel(10 * ChunkSize)
	require.Empty(t, w.Deadlines(last, nil))
	require.Empty(t, w.Deadlines(1000, nil))
	require.Equal(t, 1, w.Chunks(), "the first chunk stays")
}
