package shard

import (
	"fmt"

	"github.com/shardq/shardq/internal/chunked"
)

// A slab hands out entries and takes them back. An entry keeps its id until it
// is released. Id 0 is never handed out: it means none in all links.
type slab struct {
	// roomy is the first of the chunks that have memory and a free cell, as 1 +
	// its number. The chunk that was last full comes first. It is the fullest,
	// so the others can become empty and be released.
	roomy   int32
	vacant  int32 // likewise the chunks without memory
	spaces  []space
	cells   chunked.Cells
	items   *itemType
	columns []column
}

type space struct {
	free           uint32 // the first of the freed cells, by id; 0 is none
	used, held     uint16 // ever handed out, from the chunk's start, and now in use
	next, previous int32  // the lists roomy and vacant, as 1 + a number
}

func newSlab(of *itemType) slab { return slab{cells: chunked.NewCells(of.cells), items: of} }

func (s *slab) allocate() (id uint32, e *entry) {
	if s.roomy == 0 {
		s.openChunk()
	}
	c := s.roomy - 1
	space := &s.spaces[c]
	if id = space.free; id != 0 {
		e = s.at(id)
		space.free, e.next = e.next, 0
	} else {
		id = s.firstOf(c) + uint32(space.used)
		space.used++
		e = (*entry)(s.cells.Extend(id))
		e.next = 0
	}
	space.held++
	if s.full(space) {
		s.unlist(&s.roomy, c)
	}
	return id, e
}

func (s *slab) release(id uint32, e *entry) {
	c := int32(id / s.chunkCells())
	space := &s.spaces[c]
	if s.full(space) {
		s.list(&s.roomy, c)
	}
	*e = entry{next: space.free}
	switch { // it must not refer to the item
	case s.items.text:
		*itemOf[string](e) = ""
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

func (s *slab) addColumn(c column) { s.columns = append(s.columns, c) }

// columnChunk: columns have small cells, so a chunk may have the ids of several
// chunks of the slab. The first stays.
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

func (s *slab) at(id uint32) *entry { return (*entry)(s.cells.At(id)) }

func (s *slab) exhausted(ids uint32) bool {
	return s.roomy == 0 && s.vacant == 0 && s.firstOf(int32(len(s.spaces))) >= ids
}

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

// MaxItems is the greatest number of items that a shard holds, in any state.
const MaxItems = maxIDs - 1

var errTooMany = fmt.Errorf("%w: its shard holds %d items", ErrFull, MaxItems)

// hasID is called when the slab is about to open a chunk.
func (sh *shard) hasID() bool {
	ids := sh.set.ids
	if sh.table.firstOf(int32(len(sh.table.spaces)+1)) > ids-reserve(ids) {
		sh.set.crowded.Store(true)
	}
	return !sh.table.exhausted(ids)
}

// reserve is more than there are goroutines between Crowded and their add.
func reserve(ids uint32) uint32 { return ids >> 9 }

// Crowded returns an error if an add of another item to the item's shard may be
// refused for want of ids. It may call the user's functions.
func (s *Set[T]) Crowded(item T) error {
	if !s.Core.crowded.Load() {
		return nil
	}
	var to address
	sh := s.addressOf(item, &to)
	sh.lock()
	defer sh.unlock()
	if sh.table != nil && uint32(sh.table.live) >= s.Core.ids-reserve(s.Core.ids)-1 {
		return errTooMany
	}
	return nil
}

func (s *slab) piece(n int, visit func(id uint32)) (visited int, ok bool) {
	id := uint32(n) * rowsPerHold
	end, chunks := id+rowsPerHold, int32(len(s.spaces))
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
