package shard

import "github.com/shardq/shardq/internal/chunked"

// A table is an index of hashes over a slab of entries. With a phase in each
// entry an operation costs one hash and one look-up. Of its three cache lines
// the first has what changes most.
type table struct {
	live      int32      // the entries in use
	emptied   int32      // how often live fell to 0
	times     *times     // nil if the queue keeps no ages
	requested *requested // nil while all priorities are 0
	fences    *fences    // more of the entries' fences, or nil while nothing needs them
	index
	slab
	places *places // nil unless places are kept
}

// A position is valid until the table changes.
type position struct {
	segment *segment
	slot    uint32
	hash    uint32
}

func find[T comparable](t *table, hash uint32, item T) (id uint32, p position) {
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
			if e := t.at(id); e.hash == hash && *itemOf[T](e) == item {
				return id, position{segment, i & mask, hash}
			}
		}
	}
}

func (t *table) first(hash uint32) (id uint32) {
	s := t.segmentOf(hash)
	return s.id(s.slots[hash&uint32(len(s.slots)-1)])
}

// insert makes an entry for an item, for which find returned 0 and p.
func insert[T comparable](t *table, p position, item T) (id uint32, e *entry) {
	id, e = t.insert(p)
	*itemOf[T](e) = item
	return id, e
}

func (t *table) insert(p position) (id uint32, e *entry) {
	id, e = t.allocate()
	e.hash = p.hash
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

// remove forgets an entry. The position is zero if it is not known.
func (t *table) remove(id uint32, e *entry, p position) {
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

func (t *table) hashOf(id uint32) uint32 { return t.at(id).hash }

// patience: 512 cells are released when the table has become empty 64 times,
// and 16 after 2048. So a queue that goes up and down need not grow each time.
const patience = 1 << 15

// hadEnough: at once after a burst, beside which growing costs little.
func (t *table) hadEnough() bool {
	if len(t.spaces) == 1 && t.emptied%(patience/chunked.ChunkCells) != 0 {
		return false // one chunk is released at multiples of this at the earliest
	}
	cells := t.spread()
	return cells > chunked.ChunkCells || cells > smallestSegment && int(t.emptied)*cells >= patience
}

func (t *table) giveBack() (peak uint8) {
	peak = max(t.peak, max(t.expected, 1)-1)
	if t.spread() > chunked.ChunkCells {
		peak = max(peak, 1)
	}
	t.directory[0].giveBack()
	t.cells.GiveBack()
	return peak
}

func newTable(of *itemType) *table {
	return &table{index: newIndex(), slab: newSlab(of)}
}
