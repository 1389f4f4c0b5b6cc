package shard

import "github.com/shardq/shardq/internal/chunked"

// table is a shard's memory of items: an index of hashes over a slab of entries.
// One table with a phase in each entry stands for client-go's dirty set,
// processing set and set of known timers, so that an operation costs one hash and
// one look-up. It fills three cache lines, the first with what changes most.
type table[T comparable] struct {
	// live counts the entries in use.
	live int32
	// emptied counts how often live came down to 0.
	emptied int32
	// times has the times of the items; nil if the queue keeps no ages.
	times *times[T]
	// wishes has the priorities of the entries; nil while all are 0.
	wishes *wishes
	// fences has the upper halves of the entries' fences; nil while all are 0.
	fences *cells[uint32]
	index
	slab[T]
	_ [8]byte // fills the third line
}

// position is where a look-up ended: at the slot of the item's entry, or at the
// empty slot that proves that there is none.
type position struct {
	segment *segment
	slot    uint32
	hash    uint32
}

// find looks item up. The id is 0 if the table has no entry for it. The position
// is valid until the table changes.
func (t *table[T]) find(hash uint32, item T) (id uint32, p position) {
	segment := t.segmentOf(hash)
	slots := segment.slots
	mask := uint32(len(slots) - 1)
	alike, idMask := segment.pack(hash, 0), segment.pack(1, 0)-1
	for i := hash & mask; ; i++ {
		s := slots[i&mask]
		if s == 0 {
			return 0, position{segment, i & mask, hash}
		}
		if s&^idMask == alike {
			id := uint32(s & idMask)
			if e := t.at(id); e.hash == hash && e.item == item {
				return id, position{segment, i & mask, hash}
			}
		}
	}
}

// first returns the id in the slot at which a look-up begins: as a rule that of the entry,
// if there is one. It is 0 if the slot is empty.
func (t *table[T]) first(hash uint32) (id uint32) {
	s := t.segmentOf(hash)
	return s.id(s.slots[hash&uint32(len(s.slots)-1)])
}

// insert makes an entry for item, for which find returned 0 and p.
func (t *table[T]) insert(p position, item T) (id uint32, e *entry[T]) {
	id, e = t.allocate()
	e.item, e.hash = item, p.hash
	t.live++
	if s := p.segment; s.full() || !s.fits(id) {
		t.index.insert(p.hash, id, t.hashOf)
		if t.expects() > 0 {
			t.cells.GrowFirst()
			e = t.at(id)
		}
	} else {
		s.slots[p.slot] = s.pack(p.hash, id)
		s.live++
	}
	return id, e
}

// remove forgets an entry. The position is that of its slot, if it is known.
func (t *table[T]) remove(id uint32, e *entry[T], p position) {
	if p.segment == nil {
		s := t.segmentOf(e.hash)
		p = position{s, s.locate(id, e.hash), e.hash}
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
	t.live--
	if t.live == 0 {
		t.emptied++
	}
}

func (t *table[T]) hashOf(id uint32) uint32 { return t.at(id).hash }

// patience is how often a table of moderate size may become empty before its storage
// is given back, times the cells it has: 512 cells go after 64 times, 16 after 2048. It
// spares a queue that goes up and down within a few hundred items the cost of growing
// each time, and gives the memory of a high tide back the sooner the more it is.
const patience = 1 << 15

// tired reports whether the table is empty and its storage should be given back:
// at once after a burst that took more than 512 cells, for what growing again costs
// is little beside the burst; otherwise now and then.
func (t *table[T]) tired() bool { return t.live == 0 && t.hadEnough() }

func (t *table[T]) hadEnough() bool {
	if len(t.spaces) == 1 && t.emptied%(patience/chunked.ChunkCells) != 0 {
		return false // before that, one chunk is never enough
	}
	cells := t.spread()
	return cells > chunked.ChunkCells || cells > smallestSegment && int(t.emptied)*cells >= patience
}

// follow has a new table come after one of the same shard: it grows in larger steps to
// what that one came to, and takes chunks that others have given back.
func (t *table[T]) follow(tide uint8, spares *chunked.Spares[entry[T]]) {
	t.expected = tide
	t.cells.Share(spares)
}

// giveBack gives the storage of an empty table back, and returns what tide the next one
// should expect. The table is not used again.
func (t *table[T]) giveBack() (tide uint8) {
	tide = max(t.tide, max(t.expected, 1)-1)
	if t.spread() > chunked.ChunkCells {
		tide = max(tide, 1)
	}
	t.directory[0].giveBack()
	t.cells.GiveBack()
	return tide
}

// newTable returns an empty table.
func newTable[T comparable]() *table[T] { return &table[T]{index: newIndex()} }
