package chunked

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A cell has more than one word, so that a wrong size shows.
type cell struct{ a, b, c uint64 }

// TestArrayAgainstModel runs random operations on an array and on a map of the
// contents of each position.
func TestArrayAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &checked{T: t, holds: map[uint32]int{}, value: map[uint32]cell{}, counts: map[uint32]int{}}
		c.extends = rapid.Bool().Draw(t, "Extend and Drop")
		t.Repeat(map[string]func(*rapid.T){
			"":             func(*rapid.T) { c.check() },
			"hold":         func(t *rapid.T) { c.hold(position(t), 1) },
			"hold many":    func(t *rapid.T) { c.hold(position(t), 1+position(t)%1000) },
			"release":      func(t *rapid.T) { c.release(position(t)) },
			"release many": func(t *rapid.T) { c.releaseAll(position(t), 1+position(t)%1000) },
		})
		c.releaseAll(0, 1<<14)
		c.check()
		require.LessOrEqual(t, Size(&c.array), 2*ChunkCells, "an empty array")
	})
}

// position draws one of a few dozen positions, most of them at the edges of
// chunks.
func position(t *rapid.T) uint32 {
	chunk := rapid.SampledFrom([]uint32{0, 0, 1, 2, 3, 20}).Draw(t, "chunk")
	return chunk*ChunkCells + rapid.SampledFrom([]uint32{0, 1, 7, 8, 15, 16, 300, ChunkCells - 1}).Draw(t, "cell")
}

// checked is an array and its model.
type checked struct {
	*rapid.T
	array   Array[cell]
	extends bool // the caller counts the held cells, in counts, by chunk
	counts  map[uint32]int
	holds   map[uint32]int
	value   map[uint32]cell
	last    uint64
}

func (c *checked) hold(from, n uint32) {
	for i := from; i < from+n; i++ {
		p := Extend(&c.array, i)
		if !c.extends {
			p = Hold(&c.array, i)
		}
		if *p != c.value[i] {
			c.Fatalf("Hold(%d) found %v, want %v", i, *p, c.value[i])
		}
		c.last++
		*p = cell{c.last, ^c.last, uint64(i)}
		c.value[i] = *p
		c.holds[i]++
		c.counts[i/ChunkCells]++
	}
}

func (c *checked) release(i uint32) {
	if c.holds[i] == 0 {
		return
	}
	if c.holds[i]--; c.holds[i] == 0 {
		delete(c.value, i)
		*At(&c.array, i) = cell{}
	}
	c.counts[i/ChunkCells]--
	if !c.extends {
		Release(&c.array, i)
	} else if c.counts[i/ChunkCells] == 0 && i >= ChunkCells {
		Drop(&c.array, int(i/ChunkCells))
	}
}

func (c *checked) releaseAll(from, n uint32) {
	for i := from; i < from+n; i++ {
		for c.holds[i] > 0 {
			c.release(i)
		}
	}
}

// check looks up every position up to the end. A chunk other than the first has
// memory if and only if one of its cells is held.
func (c *checked) check() {
	cells, last := 0, 0
	for i := range uint32(len(c.array.chunks)+1) * ChunkCells {
		p := Lookup(&c.array, i)
		inUse := c.counts[i/ChunkCells] > 0
		if p != nil && *p != c.value[i] || p == nil && c.holds[i] > 0 || i >= ChunkCells && (p != nil) != inUse {
			c.Fatalf("position %d, held %d times: %v, want %v", i, c.holds[i], p, c.value[i])
		}
		if p != nil {
			cells, last = cells+1, int(i/ChunkCells)
		}
	}
	if a := &c.array; a.spare != nil {
		for i, left := range unsafe.Slice(a.spare, ChunkCells) {
			cells++
			require.Zero(c, left, "cell %d of the spare chunk", i)
		}
	}
	require.Equal(c, cells, Size(&c.array))
	require.LessOrEqual(c, len(c.array.chunks), last+1, "the last chunk is not in use")
	require.Len(c, c.array.held, len(c.array.chunks))
}
