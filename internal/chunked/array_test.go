package chunked

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestMemoryReturns fills many chunks and empties them. The slice of chunks
// shrinks too, and one chunk is kept.
func TestMemoryReturns(t *testing.T) {
	const chunks = 5000
	for _, stride := range []uint32{1, 1237, chunks - 1} {
		var a Array[int]
		for c := range uint32(chunks) {
			Hold(&a, c*ChunkCells)
		}
		for c := range uint32(chunks) {
			Release(&a, c*stride%chunks*ChunkCells)
		}
		require.Equal(t, firstCells+ChunkCells, Size(&a))
		require.Len(t, a.chunks, 1)
		require.LessOrEqual(t, cap(a.chunks)+cap(a.held), 32)
		require.Zero(t, testing.AllocsPerRun(100, func() { Hold(&a, ChunkCells); Release(&a, ChunkCells) }))
	}
}

// TestChunksAreBounded: a chunk has at most 32 KiB, or two cells if they are
// larger. Growing copies at most half of that, and no cell of a full chunk
// moves.
func TestChunksAreBounded(t *testing.T) {
	t.Run("0 bytes", checkChunks[struct{}])
	t.Run("1 byte", checkChunks[byte])
	t.Run("64 bytes", checkChunks[[64]byte])
	t.Run("65 bytes", checkChunks[[65]byte])
	t.Run("129 bytes", checkChunks[[129]byte])
	t.Run("100 KiB", checkChunks[[100 << 10]byte])
}

func checkChunks[E comparable](t *testing.T) {
	var a Array[E]
	size := int(unsafe.Sizeof(*new(E)))
	cells := int(CellsOf(uintptr(size)))
	require.Zero(t, cells&(cells-1), "%d cells, want a power of two", cells)
	require.True(t, cells == 2 || cells*size <= 32<<10)
	require.True(t, size == 0 || cells == ChunkCells || 2*cells*size > 32<<10, "twice as many would fit")
	second := Hold(&a, uint32(cells))
	for i := range 3 * cells {
		before := len(a.chunks[0])
		Hold(&a, uint32(i))
		if after := len(a.chunks[0]); after > before {
			require.LessOrEqual(t, before*size, 16<<10, "copied")
			require.LessOrEqual(t, after, max(firstCells, 2*(i+1)))
		}
	}
	for c := range 3 {
		require.Len(t, Chunk(&a, c), cells)
	}
	require.Same(t, second, At(&a, uint32(cells)))
	require.Nil(t, Lookup(&a, uint32(3*cells)))
}

// TestSparesBelongToOne: a chunk that was given back goes to at most one other.
func TestSparesBelongToOne(t *testing.T) {
	kind := KindOf[uint64]()
	first := NewCells(kind)
	for i := range uint32(9 * ChunkCells) {
		first.Extend(i)
	}
	first.Drop(8) // a spare
	require.Nil(t, first.Lookup(8*ChunkCells))
	require.Equal(t, 9*ChunkCells, first.Cells())
	first.GiveBack()
	require.Zero(t, first.Cells())
	taken := map[unsafe.Pointer]bool{}
	for range 4 {
		next := NewCells(kind)
		for chunk := range uint32(4) {
			cell := next.Extend((chunk + 1) * ChunkCells)
			require.False(t, taken[cell], "two have the same chunk")
			taken[cell] = true
		}
	}
}
