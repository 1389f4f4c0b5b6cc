package timerwheel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestC24DeadlineOrder lets one Advance pass thousands of deadlines, near and
// far, scheduled in random order.
func TestC24DeadlineOrder(t *testing.T) {
	const timers = 20_000
	random := rand.New(rand.NewPCG(3, 4))
	w := New(random.Uint64() / 2)
	deadlines := make([]uint64, timers+1)
	for id := uint32(1); id <= timers; id++ {
		deadlines[id] = w.Now() + 1 + random.Uint64()>>(1+random.IntN(63))
		require.True(t, w.Schedule(id, deadlines[id]))
	}
	var fired []uint64
	require.True(t, w.Advance(math.MaxUint64, math.MaxInt, func(id uint32) {
		fired = append(fired, deadlines[id])
	}))
	require.Len(t, fired, timers)
	require.True(t, slices.IsSorted(fired))
}

// TestC24Ties checks the order in which timers of one tick fire.
func TestC24Ties(t *testing.T) {
	const tick, far = 5000, 1 << 40
	tests := []struct {
		name string
		file func(w *Wheel)
		want []uint32
	}{
		{"filed together", func(w *Wheel) {
			file(w, tick, 3, 1, 2)
		}, []uint32{3, 1, 2}},
		{"filed from ever nearer", func(w *Wheel) {
			file(w, tick, 3)
			w.Advance(4096, 100, nil) // from level 2 to 1
			file(w, tick, 1)
			w.Advance(4992, 100, nil) // and to 0
			file(w, tick, 2)
		}, []uint32{3, 1, 2}},
		{"moved there from far", func(w *Wheel) {
			file(w, far, 3)
			file(w, tick, 1, 2)
			file(w, tick, 3)
		}, []uint32{1, 2, 3}},
		{"moved there again", func(w *Wheel) {
			file(w, tick, 3, 1, 2)
			file(w, tick, 3, 1)
		}, []uint32{3, 1, 2}},
		{"cancelled and filed again", func(w *Wheel) {
			file(w, tick, 3, 1, 2)
			w.Cancel(3)
			file(w, tick, 3)
		}, []uint32{1, 2, 3}},
		{"away and back", func(w *Wheel) {
			file(w, tick, 3, 1, 2)
			file(w, far, 3)
			file(w, tick, 3)
		}, []uint32{1, 2, 3}},
		{"after a rewind", func(w *Wheel) {
			w.Advance(4990, 100, nil)
			file(w, tick, 3, 1)
			w.Rewind(10)
			w.Advance(11, 100, nil)
			file(w, tick, 2)
		}, []uint32{3, 1, 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := New(0)
			test.file(w)
			checkInvariants(t, w)
			var fired []uint32
			require.True(t, w.Advance(tick, 100, func(id uint32) { fired = append(fired, id) }))
			require.Equal(t, test.want, fired)
		})
	}
}

func file(w *Wheel, deadline uint64, ids ...uint32) {
	for _, id := range ids {
		w.Schedule(id, deadline)
	}
}
