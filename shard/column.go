package shard

import "github.com/shardq/shardq/internal/chunked"

// A column has what only some queues, or some items, need beside an entry: a
// cell for each, by the entry's id. It has memory only where it is used. A slab
// releases that memory together with the memory of the entries, and knows
// nothing else of a column.
type column interface {
	// drop releases the memory of a chunk, none of whose ids is in use.
	drop(chunk int)
}

// cells are a column of small cells, of at most 64 bytes each. A cell is zero
// when its memory is new.
type cells[E any] struct{ chunked.Array[E] }

func (c *cells[E]) drop(chunk int) {
	if c.Lookup(uint32(chunk)*chunked.ChunkCells) != nil {
		c.Clear(chunk) // because the memory is reused
		c.Drop(chunk)
	}
}
