package chunked

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// A cell has more than one word, so that a wrong size shows.
type cell struct{ a, b, c uint64 }

// TestArrayAgainstModel runs random operations on an array and on the model,
// for both ways to use an array.
func TestArrayAgainstModel(t *testing.T) {
	t.Run("Hold and Release", func(t *testing.T) {
		againstModel(t, func(a *Array[cell]) user { return a })
	})
	t.Run("Extend and Drop", func(t *testing.T) {
		againstModel(t, func(a *Array[cell]) user { return &counter{a, map[uint32]int{}} })
	})
	t.Run("spares", func(t *testing.T) {
		var spares Spares[cell] // shared by the arrays of all runs
		againstModel(t, func(a *Array[cell]) user {
			a.Share(&spares)
			return a
		})
	})
}

type user interface {
	Hold(i uint32) *cell
	Release(i uint32) (emptied bool)
}

// A counter counts held cells itself.
type counter struct {
	array *Array[cell]
	held  map[uint32]int // by chunk
}

func (u *counter) Hold(i uint32) *cell {
	u.held[i/ChunkCells]++
	return u.array.Extend(i)
}

func (u *counter) Release(i uint32) (emptied bool) {
	chunk := i / ChunkCells
	u.held[chunk]--
	if u.held[chunk] > 0 || chunk == 0 {
		return false
	}
	u.array.Drop(int(chunk))
	return true
}

func againstModel(t *testing.T, open func(*Array[cell]) user) {
	rapid.Check(t, func(t *rapid.T) {
		c := &checked{T: t, holds: map[uint32]int{}, value: map[uint32]cell{}}
		c.user = open(&c.array)
		t.Repeat(map[string]func(*rapid.T){
			"":             func(*rapid.T) { c.check() },
			"hold":         func(t *rapid.T) { c.hold(position(t)) },
			"hold many":    func(t *rapid.T) { c.holdMany(position(t), 1+position(t)%1000) },
			"release":      func(t *rapid.T) { c.release(position(t)) },
			"release many": func(t *rapid.T) { c.releaseMany(position(t), 1+position(t)%1000) },
			"grow first": func(*rapid.T) {
				if len(c.array.chunks) > 0 && c.array.chunks[0] != nil {
					c.array.GrowFirst()
				}
			},
		})
		c.releaseMany(0, 1<<16)
		c.check()
		if cells := c.array.Cells(); cells > 2*ChunkCells {
			t.Fatalf("an empty array has %d cells", cells)
		}
	})
}

// position draws one of a few dozen positions, most of them at the edges of
// chunks.
func position(t *rapid.T) uint32 {
	chunk := rapid.SampledFrom([]uint32{0, 0, 1, 2, 3, 20}).Draw(t, "chunk")
	return chunk*ChunkCells + rapid.SampledFrom([]uint32{0, 1, 7, 8, 15, 16, 300, ChunkCells - 1}).Draw(t, "cell")
}

// checked is an array and a naive model, a map of the contents of each
// position.
type checked struct {
	*rapid.T
	array Array[cell]
	user  user
	holds map[uint32]int
	value map[uint32]cell
	last  uint64
}

func (c *checked) hold(i uint32) {
	p := c.user.Hold(i)
	if *p != c.value[i] {
		c.Fatalf("Hold(%d) found %v, want %v", i, *p, c.value[i])
	}
	c.last++
	*p = cell{c.last, ^c.last, uint64(i)}
	c.holds[i]++
	c.value[i] = *p
}

func (c *checked) holdMany(from, n uint32) {
	for i := range n {
		c.hold(from + i)
	}
}

// release does nothing if the position is not held, because Release requires
// that.
func (c *checked) release(i uint32) {
	if c.holds[i] == 0 {
		return
	}
	if c.holds[i]--; c.holds[i] == 0 {
		delete(c.holds, i)
		delete(c.value, i)
		*c.array.At(i) = cell{}
	}
	emptied := c.user.Release(i)
	if gone := c.array.Lookup(i) == nil; gone != emptied {
		c.Fatalf("Release(%d) reports %v, but Lookup finds no memory: %v", i, emptied, gone)
	}
}

func (c *checked) releaseMany(from, n uint32) {
	for i := range n {
		for c.holds[from+i] > 0 {
			c.release(from + i)
		}
	}
}

func (c *checked) check() {
	inUse := map[int]bool{}
	for i, want := range c.value {
		inUse[int(i/ChunkCells)] = true
		if got := c.array.Lookup(i); got == nil || *got != want || got != c.array.At(i) {
			c.Fatalf("position %d holds %v, want %v", i, got, want)
		}
	}
	c.checkUnheld()
	c.checkMemory(inUse)
}

// checkUnheld looks up every position up to the end. Cells with memory that are
// not held must be zero.
func (c *checked) checkUnheld() {
	for i := range uint32(len(c.array.chunks)+1) * ChunkCells {
		if p := c.array.Lookup(i); p != nil && c.holds[i] == 0 && *p != (cell{}) {
			c.Fatalf("position %d is not held, but has %v", i, *p)
		}
	}
	for i, left := range spareOf(&c.array) {
		if left != (cell{}) {
			c.Fatalf("cell %d of the spare chunk has %v", i, left)
		}
	}
}

// spareOf returns the spare chunk of an array, or nil.
func spareOf[E any](a *Array[E]) []E {
	if a.spare == nil {
		return nil
	}
	return unsafe.Slice(a.spare, CellsOf(unsafe.Sizeof(*a.spare)))
}

// checkMemory checks that a chunk other than the first has memory if and only
// if one of its cells is held.
func (c *checked) checkMemory(inUse map[int]bool) {
	cells := len(spareOf(&c.array))
	for i, chunk := range c.array.chunks {
		if i > 0 && (chunk != nil) != inUse[i] {
			c.Fatalf("chunk %d: in use is %v, but it has %d cells", i, inUse[i], len(chunk))
		}
		cells += len(chunk)
	}
	if n := len(c.array.chunks); n > 1 && !inUse[n-1] {
		c.Fatalf("%d chunks, but the last is not in use", n)
	}
	if n := len(c.array.held); n != len(c.array.chunks) {
		c.Fatalf("%d counts for %d chunks", n, len(c.array.chunks))
	}
	if got := c.array.Cells(); got != cells {
		c.Fatalf("Cells is %d, want %d", got, cells)
	}
}
