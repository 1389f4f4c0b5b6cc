package shard

// table is a shard's memory of items: an index of hashes over a slab of entries.
// One table with a phase in each entry stands for client-go's dirty set,
// processing set and set of known timers, so that an operation costs one hash and
// one look-up.
type table[T comparable] struct {
	// live counts the entries in use.
	live int32
	// emptied counts how often live came down to 0 since storage was last reset.
	emptied int32
	slab[T]
	index
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
	i := hash & mask
	for {
		s := slots[i&mask]
		if s.id == 0 || s.hash == hash && t.at(s.id).item == item {
			return s.id, position{segment, i & mask, hash}
		}
		i++
	}
}

// insert makes an entry for item, for which find returned 0 and p.
func (t *table[T]) insert(p position, item T) (id uint32, e *entry[T]) {
	id, e = t.allocate()
	e.item = item
	t.live++
	if p.segment.full() {
		t.index.insert(p.hash, id)
	} else {
		p.segment.slots[p.slot] = slot{p.hash, id}
		p.segment.live++
	}
	return id, e
}

// remove forgets the entry that find returned with p, and reports whether the
// table gave all its storage back and is as new.
func (t *table[T]) remove(id uint32, p position) (reset bool) {
	t.index.remove(p.segment, p.slot, p.hash)
	t.release(id, t.at(id))
	t.live--
	return t.live == 0 && t.rest()
}

// locate returns the position of an entry in use, whose item's hash is hash.
func (t *table[T]) locate(id, hash uint32) position {
	segment := t.segmentOf(hash)
	mask := uint32(len(segment.slots) - 1)
	i := hash & mask
	for segment.slots[i&mask].id != id {
		i++
	}
	return position{segment, i & mask, hash}
}

// restsBeforeReset is how often a table of moderate size may become empty before
// it starts from nothing again. It spares a queue that goes up and down within a
// few hundred items the cost of growing each time, and still gives the memory of
// its highest tide back after so many operations.
const restsBeforeReset = 1024

// rest is called when the table has become empty. After a burst that took more
// than one segment's worth of items, storage is given back at once: what growing
// again costs is little beside the burst.
func (t *table[T]) rest() (reset bool) {
	t.emptied++
	burst := len(t.spaces) > 1
	tired := t.emptied >= restsBeforeReset && t.cells.Cells() > smallestSegment
	if burst || tired {
		*t = newTable[T]()
		return true
	}
	return false
}

func newTable[T comparable]() table[T] { return table[T]{index: newIndex()} }
