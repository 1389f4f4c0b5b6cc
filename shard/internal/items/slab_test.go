package items

import (
	"testing"

	"github.com/shardq/shardq/internal/chunked"
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
