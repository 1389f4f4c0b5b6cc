package items

import "github.com/shardq/shardq/internal/chunked"

// A Table is an index of hashes over a slab of entries. With a phase in each
// entry an operation costs one hash and one look-up. Of the table's three cache
// lines the first has what changes most.
type Table struct {
	Live      int32      // the entries in use
	emptied   int32      // how often live fell to 0
	Requested *Requested // nil while all priorities are 0
	fences    *fences    // more of the entries' fences, or nil while nothing needs them
	index
	slab
	Places *Places // nil unless places are kept
}

// A Position is valid until the table changes.
type Position struct {
	segment *segment
	slot    uint32
	hash    uint32
}

func (t *Table) Find(hash uint32, key Key) (id uint32, p Position) {
	segment := t.segmentOf(hash)
	slots := segment.slots
	mask := uint32(len(slots) - 1)
	shift := segment.idBits & 31 // as in pack, which a program does not inline here
	alike, idMask := slot(segment.part(hash)<<shift), slot(1<<shift-1)
	for i := hash & mask; ; i++ {
		s := slots[i&mask]
		if s == 0 {
			return 0, Position{segment, i & mask, hash}
		}
		if s&^idMask == alike {
			id := uint32(s & idMask)
			if e := t.At(id); e.Hash == hash && t.items.has(e, key) {
				return id, Position{segment, i & mask, hash}
			}
		}
	}
}

// Home reads the slot at which a look-up begins.
func (t *Table) Home(hash uint32) uint32 {
	s := t.segmentOf(hash)
	return uint32(s.slots[hash&uint32(len(s.slots)-1)])
}

// Candidate returns the id that Find will look at first, or 0, and reads no entry.
func (t *Table) Candidate(hash uint32) (id uint32) {
	s := t.segmentOf(hash)
	mask, shift := uint32(len(s.slots)-1), s.idBits&31
	alike := s.part(hash) << shift >> shift
	for i := hash & mask; ; i++ {
		if o := s.slots[i&mask]; o == 0 || uint32(o)>>shift == alike {
			return s.id(o)
		}
	}
}

// Insert makes an entry for an item, for which Find returned 0 and p.
func (t *Table) Insert(p Position, key Key) (id uint32, e *Entry) {
	id, e = t.insert(p)
	t.items.put(e, key)
	return id, e
}

func (t *Table) insert(p Position) (id uint32, e *Entry) {
	id, e = t.allocate()
	e.Hash = p.hash
	t.Live++
	if s := p.segment; s.full() || !s.fits(id) {
		t.index.insert(p.hash, id, t.hashOf)
		if t.expects() > 0 {
			t.cells.GrowFirst()
			e = t.At(id)
		}
	} else {
		s.slots[p.slot] = s.pack(p.hash, id)
		s.live++
	}
	return id, e
}

// Remove forgets an entry. The position is zero if it is not known.
func (t *Table) Remove(id uint32, e *Entry, p Position) {
	if p.segment == nil {
		s := t.segmentOf(e.Hash)
		p = Position{s, s.locate(id, e.Hash), e.Hash}
	}
	s := p.segment
	if s.tells(len(s.slots)) {
		s.remove(p.slot, nil)
	} else {
		s.remove(p.slot, t.hashOf)
	}
	if s.sparse() {
		t.shrink(s, p.hash, t.hashOf)
	}
	t.release(id, e)
	t.Live--
	if t.Live == 0 {
		t.emptied++
	}
}

func (t *Table) hashOf(id uint32) uint32 { return t.At(id).Hash }

// patience, divided by the number of cells, is how often a table must become
// empty until it is given back: 64 times with 512 cells, and 2048 times with
// 16. So a queue that goes up and down need not grow each time.
const patience = 1 << 15

// HadEnough reports whether an empty table should be given back. After a burst,
// it is given back at once, because growing again costs little beside a burst.
func (t *Table) HadEnough() bool {
	if len(t.spaces) == 1 && t.emptied%(patience/chunked.ChunkCells) != 0 {
		return false // one chunk is released at multiples of this at the earliest
	}
	cells := t.spread()
	return cells > chunked.ChunkCells || cells > smallestSegment && int(t.emptied)*cells >= patience
}

func (t *Table) GiveBack() (peak uint8) {
	peak = max(t.peak, max(t.Expected, 1)-1)
	if t.spread() > chunked.ChunkCells {
		peak = max(peak, 1)
	}
	t.directory[0].giveBack()
	t.cells.GiveBack()
	return peak
}

func NewTable(of *Type) Table { return Table{index: newIndex(), slab: newSlab(of)} }
