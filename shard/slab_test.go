package shard

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/shardq/shardq/internal/chunked"
)

// checkedSlab is a slab beside a model of it: the entries in use, and what they hold.
type checkedSlab struct {
	failer
	slab  slab[string]
	inUse map[uint32]string
	order []uint32 // the ids in use, oldest first
}

func newCheckedSlab(t failer) *checkedSlab {
	return &checkedSlab{failer: t, inUse: map[uint32]string{}}
}

func (c *checkedSlab) allocate(item string) {
	c.Helper()
	id, e := c.slab.allocate()
	switch _, taken := c.inUse[id]; {
	case id == 0 || taken:
		c.Fatalf("allocate returned id %d, taken: %v", id, taken)
	case e != c.slab.at(id) || *e != entry[string]{}:
		c.Fatalf("allocate returned %+v under id %d", *e, id)
	}
	*e = entry[string]{item: item, next: 77, status: status(dirty) | waits}
	c.inUse[id] = item
	c.order = append(c.order, id)
}

// free frees the entry at a place in the order of allocation.
func (c *checkedSlab) free(place int) {
	c.Helper()
	id := c.order[place]
	e := c.slab.at(id)
	if e.item != c.inUse[id] || e.next != 77 {
		c.Fatalf("entry %d holds %+v, not %q", id, *e, c.inUse[id])
	}
	c.slab.release(id, e)
	delete(c.inUse, id)
	c.order[place] = c.order[len(c.order)-1]
	c.order = c.order[:len(c.order)-1]
}

func (c *checkedSlab) check() {
	c.Helper()
	checkSlab(c, &c.slab, c.inUse)
	for id, item := range c.inUse {
		if c.slab.at(id).item != item {
			c.Fatalf("entry %d holds %q, not %q", id, c.slab.at(id).item, item)
		}
	}
}

// TestSlabAgainstModel runs random operations, with crowds over several chunks.
func TestSlabAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCheckedSlab(t)
		place := func(t *rapid.T) int { return rapid.IntRange(0, len(c.order)-1).Draw(t, "place") }
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { c.check() },
			"allocate": func(t *rapid.T) {
				c.allocate(rapid.StringN(0, 3, -1).Draw(t, "item"))
			},
			"allocate crowd": func(t *rapid.T) {
				for range rapid.IntRange(1, 4*chunked.ChunkCells).Draw(t, "n") {
					c.allocate("one of the crowd")
				}
			},
			"free": func(t *rapid.T) {
				if len(c.order) > 0 {
					c.free(place(t))
				}
			},
			"free crowd": func(t *rapid.T) {
				if len(c.order) == 0 {
					return
				}
				first := place(t)
				for range rapid.IntRange(1, len(c.order)).Draw(t, "n") {
					c.free(min(first, len(c.order)-1))
				}
			},
			"free a chunk": func(t *rapid.T) { c.freeChunk(rapid.Uint32Range(0, 6).Draw(t, "chunk")) },
		})
		for len(c.order) > 0 {
			c.free(0)
		}
		c.check()
	})
}

func (c *checkedSlab) freeChunk(chunk uint32) {
	c.Helper()
	for place := len(c.order) - 1; place >= 0; place-- {
		if c.order[place]/chunked.ChunkCells == chunk {
			c.free(place)
		}
	}
}

// TestSlabReleasesMemory: of many chunks, one in reserve and the first are left.
func TestSlabReleasesMemory(t *testing.T) {
	c := newCheckedSlab(t)
	for range 20 * chunked.ChunkCells {
		c.allocate("x")
	}
	for len(c.order) > 0 {
		c.free(0)
	}
	c.check()
	if cells := c.slab.cells.Cells(); cells > 2*chunked.ChunkCells {
		t.Errorf("an empty slab holds %d cells", cells)
	}
	for range chunked.ChunkCells {
		c.allocate("y")
	}
	c.check()
	if spaces := len(c.slab.spaces); spaces > 21 {
		t.Errorf("chunks are not used again: there are %d", spaces)
	}
}

// TestSlabKeepsNothing: a freed entry refers to nothing, in all chunks, the reserve
// included.
func TestSlabKeepsNothing(t *testing.T) {
	var s slab[*int]
	var ids []uint32
	for range 3 * chunked.ChunkCells {
		id, e := s.allocate()
		e.item = new(int)
		ids = append(ids, id)
	}
	for _, id := range ids {
		s.release(id, s.at(id))
	}
	for range 3 * chunked.ChunkCells { // through whatever memory was kept
		if id, e := s.allocate(); *e != (entry[*int]{}) {
			t.Fatalf("entry %d was kept: %+v", id, *e)
		}
	}
}

// TestSlabPrefersFullChunks: new entries go where most are, so that other chunks get
// empty. Of two chunks that were thinned out, the one freed into last while full is
// filled first.
func TestSlabPrefersFullChunks(t *testing.T) {
	c := newCheckedSlab(t)
	for range 4*chunked.ChunkCells - 1 {
		c.allocate("x")
	}
	c.free(1*chunked.ChunkCells + 3)
	c.free(2*chunked.ChunkCells + 3)
	c.allocate("into chunk 2")
	c.allocate("into chunk 1")
	last := c.order[len(c.order)-2:]
	if last[0]/chunked.ChunkCells != 2 || last[1]/chunked.ChunkCells != 1 {
		t.Errorf("new entries went to %d and %d", last[0], last[1])
	}
	c.check()
}

// TestSlabGrowsByCells: a shard of a few items costs a few cells.
func TestSlabGrowsByCells(t *testing.T) {
	c := newCheckedSlab(t)
	for n := 1; n < chunked.ChunkCells; n++ {
		c.allocate("x")
		if cells := c.slab.cells.Cells(); cells > max(8, 2*(n+1)) {
			t.Fatalf("%d entries take %d cells", n, cells)
		}
	}
	c.check()
}
