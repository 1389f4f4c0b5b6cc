package items

import (
	"testing"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/stretchr/testify/require"
)

// TestSlabKeepsNothing: a freed entry refers to nothing, in all chunks, the
// reserve included.
func TestSlabKeepsNothing(t *testing.T) {
	s := newSlab(TypeOf[*int]())
	var ids []uint32
	for range 3 * chunked.ChunkCells {
		id, e := s.allocate()
		*Of[*int](e) = new(int)
		ids = append(ids, id)
	}
	for _, id := range ids {
		s.release(id, s.At(id))
	}
	for range 3 * chunked.ChunkCells { // through whatever memory was kept
		if id, e := s.allocate(); *e != (Entry{}) || *Of[*int](e) != nil {
			t.Fatalf("entry %d was kept: %+v", id, *e)
		}
	}
}

// TestColumnsComeBackZero: ids are used again, and so are the chunks of columns.
func TestColumnsComeBackZero(t *testing.T) {
	const n = 4 * chunked.ChunkCells
	table := NewTable(TypeOf[uint32]())
	var cells chunked.Array[int]
	AddColumn(&table, &cells)
	for range 3 {
		var ids [n]uint32
		for i := range uint32(n) {
			_, p := table.Find(i*0x9e3779b9, KeyOf(&i))
			ids[i], _ = table.Insert(p, KeyOf(&i))
			cell := chunked.Extend(&cells, ids[i])
			require.True(t, *cell == 0 || ids[i] < chunked.ChunkCells, "of an earlier entry")
			*cell = 1
			table.NoteCancel(ids[i], 1)
		}
		for _, id := range ids {
			table.Remove(id, table.At(id), Position{})
		}
		require.LessOrEqual(t, chunked.Size(&cells), 2*chunked.ChunkCells)
		require.LessOrEqual(t, chunked.Size(&table.fences.canceled), 2*chunked.ChunkCells)
	}
}

func TestDropRequestedForgetsItsColumn(t *testing.T) {
	table := NewTable(TypeOf[uint32]())
	for range 3 {
		table.NeedRequested()
		table.DropRequested()
	}
	require.Empty(t, table.columns)
}
