package shard

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/shardq/shardq/internal/chunked"
)

// checkedSlab is a slab beside a model of it: the entries in use, and what they
// hold.
type checkedSlab[T comparable] struct {
	failer
	slab slab[T]
	// column is a column of the slab, and has the ids of the entries. It is nil
	// if there is none.
	column *cells[uint64]
	item   func(name string) T
	inUse  map[uint32]T
	order  []uint32 // the ids in use, oldest first
}

func newCheckedSlab(t failer) *checkedSlab[string] {
	return &checkedSlab[string]{failer: t, item: func(name string) string { return name }, inUse: map[uint32]string{}}
}

// A bulky item is so large that a chunk has 16 of them.
type bulky struct {
	name string
	_    [1500]byte
}

// newBulkySlab returns a slab with a column.
func newBulkySlab(t failer) *checkedSlab[bulky] {
	c := &checkedSlab[bulky]{failer: t, item: func(name string) bulky { return bulky{name: name} }, inUse: map[uint32]bulky{}}
	c.column = &cells[uint64]{}
	c.slab.addColumn(c.column)
	return c
}

func (c *checkedSlab[T]) allocate(name string) {
	c.Helper()
	item := c.item(name)
	id, e := c.slab.allocate()
	switch _, taken := c.inUse[id]; {
	case id == 0 || taken:
		c.Fatalf("allocate returned id %d, taken: %v", id, taken)
	case e != c.slab.at(id) || *e != entry[T]{}:
		c.Fatalf("allocate returned %+v under id %d", *e, id)
	}
	if c.column != nil {
		*c.column.Extend(id) = uint64(id)
	}
	*e = entry[T]{item: item, next: 77, status: status(dirty) | delayedBit}
	c.inUse[id] = item
	c.order = append(c.order, id)
}

// free frees the entry at a place in the order of allocation.
func (c *checkedSlab[T]) free(place int) {
	c.Helper()
	id := c.order[place]
	e := c.slab.at(id)
	if e.item != c.inUse[id] || e.next != 77 {
		c.Fatalf("entry %d holds %+v, not %v", id, *e, c.inUse[id])
	}
	c.slab.release(id, e)
	delete(c.inUse, id)
	c.order[place] = c.order[len(c.order)-1]
	c.order = c.order[:len(c.order)-1]
}

func (c *checkedSlab[T]) check() {
	c.Helper()
	checkSlab(c, &c.slab, c.inUse)
	if c.column != nil {
		c.checkColumn()
	}
	for id, item := range c.inUse {
		if c.slab.at(id).item != item {
			c.Fatalf("entry %d holds %v, not %v", id, c.slab.at(id).item, item)
		}
	}
}

// checkColumn checks that a column has memory where an entry is in use, and at
// most one chunk more.
func (c *checkedSlab[T]) checkColumn() {
	c.Helper()
	column, used := c.column, map[int]bool{0: true}
	for id := range c.inUse {
		used[int(id/chunked.ChunkCells)] = true
		if cell := column.Lookup(id); cell == nil || *cell != uint64(id) {
			c.Fatalf("entry %d has lost its cell of the column: %v", id, cell)
		}
	}
	if most := (len(used) + 1) * chunked.ChunkCells; column.Cells() > most {
		c.Fatalf("the column has %d cells for %d chunks", column.Cells(), len(used))
	}
}

// TestSlabAgainstModel runs random operations, with bursts over several chunks.
func TestSlabAgainstModel(t *testing.T) {
	t.Run("string", func(t *testing.T) { slabAgainstModel(t, newCheckedSlab) })
	t.Run("bulky", func(t *testing.T) { slabAgainstModel(t, newBulkySlab) })
}

func slabAgainstModel[T comparable](t *testing.T, open func(failer) *checkedSlab[T]) {
	rapid.Check(t, func(t *rapid.T) {
		c := open(t)
		place := func(t *rapid.T) int { return rapid.IntRange(0, len(c.order)-1).Draw(t, "place") }
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { c.check() },
			"allocate": func(t *rapid.T) {
				c.allocate(rapid.StringN(0, 3, -1).Draw(t, "item"))
			},
			"allocate burst": func(t *rapid.T) {
				for range rapid.IntRange(1, 4*int(c.slab.chunkCells())).Draw(t, "n") {
					c.allocate("one of the burst")
				}
			},
			"free": func(t *rapid.T) {
				if len(c.order) > 0 {
					c.free(place(t))
				}
			},
			"free burst": func(t *rapid.T) {
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

func (c *checkedSlab[T]) freeChunk(chunk uint32) {
	c.Helper()
	for place := len(c.order) - 1; place >= 0; place-- {
		if c.order[place]/c.slab.chunkCells() == chunk {
			c.free(place)
		}
	}
}

// TestSlabKeepsNothing: a freed entry refers to nothing, in all chunks, the
// reserve included.
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
