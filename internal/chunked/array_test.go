package chunked

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestArrayIsEmptyAtFirst(t *testing.T) {
	var a Array[int]
	require.Zero(t, a.Cells())
	for _, i := range []uint32{0, 1, ChunkCells, 1 << 31} {
		require.Nil(t, a.Lookup(i))
	}
}

// TestFirstChunkGrows holds cell after cell. Few cells need little memory, and
// their contents survive the copying.
func TestFirstChunkGrows(t *testing.T) {
	var a Array[uint32]
	for i := range uint32(ChunkCells) {
		*a.Hold(i) = i + 1
		require.LessOrEqual(t, a.Cells(), max(firstCells, 2*int(i+1)))
		for j := range i + 1 {
			require.Equal(t, j+1, *a.At(j))
		}
	}
	require.Equal(t, ChunkCells, a.Cells())
}

// TestFirstChunkGrowsAtOnce holds its last cell first.
func TestFirstChunkGrowsAtOnce(t *testing.T) {
	var a Array[int]
	*a.Hold(3) = 33
	*a.Hold(ChunkCells - 1) = 44
	require.Equal(t, 33, *a.At(3))
	require.Equal(t, 44, *a.Lookup(ChunkCells - 1))
	require.Equal(t, ChunkCells, a.Cells())
}

// TestOtherChunksNeverMove grows the array by a thousand chunks while it keeps
// a pointer to a cell.
func TestOtherChunksNeverMove(t *testing.T) {
	var a Array[int]
	p := a.Hold(ChunkCells + 7)
	for c := range uint32(1000) {
		a.Hold((c + 2) * ChunkCells)
	}
	require.Same(t, p, a.At(ChunkCells+7))
}

// TestHolesNeedNoMemory holds one cell at a high position.
func TestHolesNeedNoMemory(t *testing.T) {
	var a Array[int]
	*a.Hold(1000*ChunkCells + 5) = 5
	require.Equal(t, ChunkCells, a.Cells())
	require.Nil(t, a.Lookup(0))
	require.Nil(t, a.Lookup(999*ChunkCells))
	require.NotNil(t, a.Lookup(1000*ChunkCells))
	require.Nil(t, a.Lookup(1001*ChunkCells))
}

// TestReleaseKeepsOneSpare releases three chunks and holds three again.
func TestReleaseKeepsOneSpare(t *testing.T) {
	var a Array[int]
	for c := range uint32(4) {
		a.Hold(c * ChunkCells)
	}
	small := firstCells
	require.Equal(t, small+3*ChunkCells, a.Cells())
	spare := a.At(2 * ChunkCells)
	for _, c := range []uint32{2, 1, 3} {
		a.Release(c * ChunkCells)
	}
	require.Equal(t, small+ChunkCells, a.Cells(), "the first released chunk is kept")
	require.Same(t, spare, a.Hold(5*ChunkCells))
	require.Equal(t, small+ChunkCells, a.Cells(), "the spare chunk is used again")
	a.Hold(6 * ChunkCells)
	require.Equal(t, small+2*ChunkCells, a.Cells())
}

// TestChunkStaysWhileHeld releases all cells of a chunk except one.
func TestChunkStaysWhileHeld(t *testing.T) {
	var a Array[int]
	for i := range uint32(ChunkCells) {
		*a.Hold(ChunkCells + i) = int(i)
	}
	for i := range uint32(ChunkCells - 1) {
		require.False(t, a.Release(ChunkCells+i))
		require.Equal(t, ChunkCells-1, *a.At(2*ChunkCells - 1))
	}
	require.True(t, a.Release(2*ChunkCells-1))
	require.Nil(t, a.Lookup(ChunkCells))
}

// TestOneCellTwice holds one cell twice.
func TestOneCellTwice(t *testing.T) {
	var a Array[int]
	*a.Hold(ChunkCells) = 9
	a.Hold(ChunkCells)
	a.Release(ChunkCells)
	require.Equal(t, 9, *a.At(ChunkCells))
	a.Release(ChunkCells)
	require.Nil(t, a.Lookup(ChunkCells))
}

// TestExtendAndDrop uses the array without its counts.
func TestExtendAndDrop(t *testing.T) {
	var a Array[int]
	*a.Extend(ChunkCells + 1) = 5
	require.Equal(t, 5, *a.Extend(ChunkCells + 1), "extending again changes nothing")
	*a.Extend(2) = 6
	require.Equal(t, firstCells+ChunkCells, a.Cells())
	a.Drop(1)
	require.Nil(t, a.Lookup(ChunkCells+1))
	require.Equal(t, 6, *a.At(2))
}

// TestFirstChunkStays releases the only held cell of the first chunk.
func TestFirstChunkStays(t *testing.T) {
	var a Array[int]
	p := a.Hold(2)
	require.False(t, a.Release(2))
	require.Same(t, p, a.Lookup(2))
	require.Equal(t, firstCells, a.Cells())
}

// TestNoAllocationsAtAnEdge moves back and forth over the edge of a chunk.
func TestNoAllocationsAtAnEdge(t *testing.T) {
	var a Array[int]
	a.Hold(ChunkCells - 1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		a.Hold(ChunkCells)
		a.Release(ChunkCells)
	}))
}

// TestMemoryReturns fills many chunks and empties them, in several orders. The
// slice of chunks shrinks too.
func TestMemoryReturns(t *testing.T) {
	const chunks = 5000
	tests := map[string]func(c uint32) uint32{
		"ascending":  func(c uint32) uint32 { return c },
		"descending": func(c uint32) uint32 { return chunks - 1 - c },
		"scattered":  func(c uint32) uint32 { return c * 1237 % chunks },
		"last first": func(c uint32) uint32 { return (c + chunks - 1) % chunks },
	}
	for name, order := range tests {
		t.Run(name, func(t *testing.T) {
			var a Array[int]
			for c := range uint32(chunks) {
				a.Hold(c * ChunkCells)
			}
			for c := range uint32(chunks) {
				a.Release(order(c) * ChunkCells)
			}
			require.LessOrEqual(t, a.Cells(), 2*ChunkCells)
			require.LessOrEqual(t, len(a.chunks), 1)
			require.LessOrEqual(t, cap(a.chunks), 16)
			require.LessOrEqual(t, cap(a.held), 16)
		})
	}
}

// TestChunksAreBounded: a chunk has at most 32 KiB, or two cells if they are
// larger. Growing copies at most half of that.
func TestChunksAreBounded(t *testing.T) {
	t.Run("0 bytes", checkChunks[struct{}])
	t.Run("1 byte", checkChunks[byte])
	t.Run("64 bytes", checkChunks[[64]byte])
	t.Run("65 bytes", checkChunks[[65]byte])
	t.Run("128 bytes", checkChunks[[128]byte])
	t.Run("129 bytes", checkChunks[[129]byte])
	t.Run("4104 bytes", checkChunks[[4104]byte])
	t.Run("16 KiB", checkChunks[[16 << 10]byte])
	t.Run("100 KiB", checkChunks[[100 << 10]byte])
}

func checkChunks[E comparable](t *testing.T) {
	var a Array[E]
	var zero E
	size := int(unsafe.Sizeof(zero))
	cells := int(CellsOf(uintptr(size)))
	require.Zero(t, cells&(cells-1), "%d cells, want a power of two", cells)
	if cells > 2 {
		require.LessOrEqual(t, cells*size, 32<<10)
	}
	if 0 < size && cells < ChunkCells {
		require.Greater(t, 2*cells*size, 32<<10, "twice as many would fit")
	}
	a.Hold(0)
	for i := range 3 * cells {
		before := len(a.chunks[0])
		a.Hold(uint32(i))
		if after := len(a.chunks[0]); after > before {
			require.LessOrEqual(t, before*size, 16<<10, "copied")
			require.LessOrEqual(t, after, cells)
		}
	}
	for c := range 3 {
		require.Len(t, a.Chunk(c), cells)
	}
	require.Nil(t, a.Lookup(uint32(3*cells)))
}

// TestSparesBelongToOneArray: a chunk that an array gives back goes to at most
// one other array.
func TestSparesBelongToOneArray(t *testing.T) {
	var spares Spares[uint64]
	first := Array[uint64]{}
	first.Share(&spares)
	for i := range uint32(8 * ChunkCells) {
		first.Hold(i)
	}
	first.GiveBack()
	require.Zero(t, first.Cells())

	taken := map[*uint64]bool{}
	for range 4 {
		var next Array[uint64]
		next.Share(&spares)
		for chunk := range uint32(4) {
			cell := next.Hold((chunk + 1) * ChunkCells)
			require.Zero(t, *cell)
			require.False(t, taken[cell], "two arrays have the same chunk")
			taken[cell] = true
		}
	}
}

// TestNilSpares: an array that does not share leaves its chunks to the garbage
// collector.
func TestNilSpares(t *testing.T) {
	var a Array[int]
	a.Hold(3 * ChunkCells)
	a.GiveBack()
	*a.Hold(5 * ChunkCells) = 1
	require.Equal(t, 1, *a.At(5 * ChunkCells))
}
