package items

import "github.com/shardq/shardq/internal/chunked"

// A slab hands out entries and takes them back. An entry keeps its id until it
// is released. Id 0 is never handed out: it means none in all links.
type slab struct {
	// roomy is the first of the chunks that have memory and a free cell, as 1 +
	// its number. The chunk that was last full comes first. It is the fullest,
	// so the others can become empty and be released.
	roomy   int32
	vacant  int32 // likewise the first of the chunks without memory
	spaces  []space
	cells   chunked.Cells
	items   *Type
	columns []column
}

type space struct {
	free           uint32 // the first of the freed cells, by id; 0 is none
	used, held     uint16 // ever handed out, from the chunk's start, and now in use
	next, previous int32  // the lists roomy and vacant, as 1 + a number
}

func newSlab(of *Type) slab { return slab{cells: chunked.NewCells(of.cells), items: of} }

func (s *slab) allocate() (id uint32, e *Entry) {
	if s.roomy == 0 {
		s.openChunk()
	}
	c := s.roomy - 1
	space := &s.spaces[c]
	if id = space.free; id != 0 {
		e = s.At(id)
		space.free, e.Next = e.Next, 0
	} else {
		id = s.firstOf(c) + uint32(space.used)
		space.used++
		e = (*Entry)(s.cells.Extend(id))
		e.Next = 0
	}
	space.held++
	if s.full(space) {
		s.unlist(&s.roomy, c)
	}
	return id, e
}

func (s *slab) release(id uint32, e *Entry) {
	c := int32(id / s.chunkCells())
	space := &s.spaces[c]
	if s.full(space) {
		s.list(&s.roomy, c)
	}
	*e = Entry{Next: space.free}
	switch { // it must not refer to the item
	case s.items.text:
		*Of[string](e) = ""
	case s.items.clear != nil:
		s.items.clear(e)
	}
	space.free = id
	space.held--
	if space.held == 0 && c > 0 { // the first chunk stays: most shards never need another
		s.cells.Drop(int(c))
		if chunk, unused := s.columnChunk(c); unused {
			for _, column := range s.columns {
				column.drop(chunk)
			}
		}
		s.unlist(&s.roomy, c)
		*space = newSpace(c)
		s.list(&s.vacant, c)
	}
}

// columnChunk returns a column's chunk with the ids of a chunk of the slab, and
// of others if its cells are small, and whether it may go: the first chunk
// stays.
func (s *slab) columnChunk(c int32) (column int, unused bool) {
	each := int(chunked.ChunkCells / s.chunkCells())
	column = int(c) / each
	for i := column * each; i < min((column+1)*each, len(s.spaces)); i++ {
		if s.spaces[i].held > 0 {
			return column, false
		}
	}
	return column, column > 0
}

func (s *slab) chunkCells() uint32 { return s.cells.ChunkCells() }

func (s *slab) firstOf(c int32) uint32 { return uint32(c) * s.chunkCells() }

func (s *slab) spread() int {
	if n := len(s.spaces); n > 1 {
		return n * int(s.chunkCells())
	}
	return s.cells.Cells()
}

// Lookup returns nil for an id without memory.
func (s *slab) Lookup(id uint32) *Entry { return (*Entry)(s.cells.Lookup(id)) }

func (s *slab) At(id uint32) *Entry { return (*Entry)(s.cells.At(id)) }

// NextChunkEnds returns the first id behind the next chunk that would be added.
func (s *slab) NextChunkEnds() (id uint32) { return s.firstOf(int32(len(s.spaces) + 1)) }

func (s *slab) Exhausted(ids uint32) bool {
	return s.roomy == 0 && s.vacant == 0 && s.firstOf(int32(len(s.spaces))) >= ids
}

func (s *slab) IsFull() bool { return s.roomy == 0 }

func (s *slab) openChunk() {
	if s.vacant == 0 {
		c := int32(len(s.spaces))
		s.spaces = append(s.spaces, newSpace(c))
		s.list(&s.roomy, c)
		return
	}
	c := s.vacant - 1
	s.unlist(&s.vacant, c)
	s.list(&s.roomy, c)
}

func newSpace(c int32) space {
	if c == 0 {
		return space{used: 1} // id 0 is nil
	}
	return space{}
}

func (s *slab) full(of *space) bool { return of.free == 0 && uint32(of.used) == s.chunkCells() }

func (s *slab) list(first *int32, c int32) {
	s.spaces[c].previous, s.spaces[c].next = 0, *first
	if *first != 0 {
		s.spaces[*first-1].previous = c + 1
	}
	*first = c + 1
}

func (s *slab) unlist(first *int32, c int32) {
	space := &s.spaces[c]
	if space.previous == 0 {
		*first = space.next
	} else {
		s.spaces[space.previous-1].next = space.next
	}
	if space.next != 0 {
		s.spaces[space.next-1].previous = space.previous
	}
	space.next, space.previous = 0, 0
}

// Piece visits the cells of the n-th piece of the slab. The number of cells in
// a piece is ids. It returns false behind the last piece.
func (s *slab) Piece(n, ids int, visit func(id uint32)) (visited int, ok bool) {
	id := uint32(n * ids)
	end, chunks := id+uint32(ids), int32(len(s.spaces))
	c := int32(id / s.chunkCells())
	if c >= chunks {
		return 0, false
	}
	for ; c < chunks && s.firstOf(c) < end; c++ {
		last := min(end, s.firstOf(c)+uint32(s.spaces[c].used))
		for id = max(id, s.firstOf(c)); id < last; id++ {
			visit(id)
			visited++
		}
	}
	return visited, true
}
