package shard

import "github.com/shardq/shardq/internal/chunked"

// A column has what only some queues, or some items, need beside an entry: a
// cell for each, by the entry's id. It has memory where it is used. A slab
// gives that back with the memory of the entries, and does not know what a
// column is for.
type column interface {
	// drop gives back the memory of a chunk, none of whose ids is in use.
	drop(chunk int)
}

// cells are a column of small cells: at most 64 bytes each. A cell is zero when
// its memory is new.
type cells[E any] struct{ chunked.Array[E] }

func (c *cells[E]) drop(chunk int) {
	if c.Lookup(uint32(chunk)*chunked.ChunkCells) != nil {
		c.Clear(chunk) // for the next one who gets its memory
		c.Drop(chunk)
	}
}
