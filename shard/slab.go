package shard

import "github.com/shardq/shardq/internal/chunked"

// slab hands out entries and takes them back. An entry's id stays the same until it
// is freed. Id 0 is never handed out: it is the nil of all links. There are 2²⁹ ids.
type slab[T comparable] struct {
	// roomy is the first of the chunks that have a free cell and memory, as 1 +
	// its number; 0 is none. The chunk that had a cell freed last while full comes
	// first: it is the fullest, so the others get the chance to become empty
	// and be released.
	roomy int32
	// vacant likewise lists the chunks without memory.
	vacant int32
	spaces []space
	cells  chunked.Array[entry[T]]
	// since has the stamps of the entries, if there are any: see pulse.
	since *stamps
	// groups has the groups of the entries, by their ids, if there are any.
	groups *chunked.Array[uint32]
	// wishes has the priorities of the entries; nil while all are 0.
	wishes *wishes
}

// space keeps the books of one chunk.
type space struct {
	// free is the first of the freed cells, by id; 0 is none.
	free uint32
	// used counts the cells from the chunk's start that were ever handed out,
	// held those that are out now.
	used, held uint16
	// next and previous link the lists roomy and vacant, as 1 + a number.
	next, previous int32
}

// allocate returns a zero entry and its id.
func (s *slab[T]) allocate() (id uint32, e *entry[T]) {
	if s.roomy == 0 {
		s.openChunk()
	}
	c := s.roomy - 1
	space := &s.spaces[c]
	if id = space.free; id != 0 {
		e = s.cells.At(id)
		space.free, e.next = e.next, 0
	} else {
		id = uint32(c)*chunked.ChunkCells + uint32(space.used)
		space.used++
		e = s.cells.Extend(id)
		e.next = 0
		if s.since != nil {
			s.since.Extend(id)
		}
	}
	space.held++
	if space.full() {
		s.unlist(&s.roomy, c)
	}
	return id, e
}

// release takes an entry back and forgets its item.
func (s *slab[T]) release(id uint32, e *entry[T]) {
	c := int32(id / chunked.ChunkCells)
	space := &s.spaces[c]
	if space.full() {
		s.list(&s.roomy, c)
	}
	*e = entry[T]{next: space.free}
	space.free = id
	space.held--
	if space.held == 0 && c > 0 { // the first chunk stays: most shards never need another
		s.cells.Drop(int(c))
		if s.since != nil {
			s.since.Drop(int(c))
		}
		if s.groups != nil && s.groups.Lookup(uint32(c)*chunked.ChunkCells) != nil {
			s.groups.Drop(int(c))
		}
		if s.wishes != nil {
			s.wishes.dropRuns(c)
		}
		s.unlist(&s.roomy, c)
		*space = newSpace(c)
		s.list(&s.vacant, c)
	}
}

// at returns the entry with an id in use.
func (s *slab[T]) at(id uint32) *entry[T] { return s.cells.At(id) }

func (s *slab[T]) openChunk() {
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

func (s *space) full() bool { return s.free == 0 && s.used == chunked.ChunkCells }

func (s *slab[T]) list(first *int32, c int32) {
	s.spaces[c].previous, s.spaces[c].next = 0, *first
	if *first != 0 {
		s.spaces[*first-1].previous = c + 1
	}
	*first = c + 1
}

func (s *slab[T]) unlist(first *int32, c int32) {
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
