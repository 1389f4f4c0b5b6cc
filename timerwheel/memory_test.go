package timerwheel

import (
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/internal/chunked"
)

// TestNodeSize checks that a timer has 16 bytes, and no pointers for the
// garbage collector to scan.
func TestNodeSize(t *testing.T) {
	require.Equal(t, uintptr(16), unsafe.Sizeof(node{}))
	for field := range reflect.TypeFor[node]().Fields() {
		kind := field.Type.Kind()
		require.True(t, kind == reflect.Uint64 || kind == reflect.Uint32, "%s is a %s", field.Name, kind)
	}
}

// TestNoAllocations runs cycles of a wheel that has reached its size.
func TestNoAllocations(t *testing.T) {
	const timers = 4 * chunked.ChunkCells
	var step uint32
	next := func(w *Wheel) (id uint32, deadline uint64) {
		step++
		return 1 + step%timers, w.Now() + 1 + uint64(step)*7919%100_000
	}
	tests := map[string]func(w *Wheel){
		"reschedule": func(w *Wheel) { w.Schedule(next(w)) },
		"fire and schedule": func(w *Wheel) {
			tick, _ := w.Next()
			w.Advance(tick, 64, func(id uint32) {
				_, deadline := next(w)
				w.Schedule(id, deadline)
			})
		},
		"over the edge of a chunk": func(w *Wheel) {
			const beyond = timers + chunked.ChunkCells
			w.Schedule(beyond, math.MaxUint64)
			w.Cancel(beyond)
		},
	}
	for name, cycle := range tests {
		t.Run(name, func(t *testing.T) {
			w := New(1 << 40)
			for level := range levels {
				w.Schedule(timers, w.Now()+span(level)) // a level is allocated with its first timer
			}
			for range timers {
				w.Schedule(next(w))
			}
			require.Zero(t, testing.AllocsPerRun(500, func() { cycle(w) }))
			require.Equal(t, timers, w.Len())
			checkInvariants(t, w)
		})
	}
}

// span returns 64^n, the width of a slot of level n.
func span(n int) uint64 { return 1 << (levelBits * n) }

func TestScheduleZeroID(t *testing.T) {
	w := New(0)
	require.PanicsWithValue(t, "timerwheel: id is 0, want 1 or more", func() { w.Schedule(0, 1) })
	require.False(t, w.Cancel(0))
}
