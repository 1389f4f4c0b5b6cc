package shard

// An entry is everything that a shard knows of an item, in one place. It
// replaces client-go's dirty set, processing set and heap node. With string
// items it is 32 bytes, so that no entry crosses a cache line. What only some
// items need is in columns, which are indexed by the entry's id and have memory
// where they are used.
type entry[T comparable] struct {
	item T
	// next links the list that the entry is in, if any. That is a run queue if
	// the item is ready, the items in processing if the queue keeps ages, or
	// the chunk's free list.
	next uint32
	// status has the phase, the delayed bit, and the link back in the list.
	status status
	// hash is the item's hash. It finds the slot of the index without reading
	// the item.
	hash uint32
	// fence is the low half of the fence of the last hand-out: see Handle.
	fence uint32
}

// A status packs three fields that would take eight bytes more. From the lowest
// bit, it has the phase (two bits), a bit that is set while the wheel holds a
// timer under the entry's id, and the id of the previous entry in the list.
type status uint32

const (
	phaseMask  status = 1<<2 - 1
	delayedBit status = 1 << 2
	// backShift is the offset of the link back: ids have 29 bits.
	backShift = 3
	backMask  = ^(phaseMask | delayedBit)
)

// maxIDs is the number of ids in a shard, including 0, which means none.
const maxIDs = 1 << (32 - backShift)

func (e *entry[T]) phase() phase { return phase(e.status & phaseMask) }

func (e *entry[T]) setPhase(p phase) { e.status = e.status&^phaseMask | status(p) }

func (e *entry[T]) delayed() bool { return e.status&delayedBit != 0 }

func (e *entry[T]) setDelayed(w bool) {
	if w {
		e.status |= delayedBit
	} else {
		e.status &^= delayedBit
	}
}

// inFlight reports whether the item is in processing, dirty or not.
func (e *entry[T]) inFlight() bool { return e.phase() >= processing }

// free reports whether a cell of the slab has no entry. An entry in phase idle
// is delayed.
func (e *entry[T]) free() bool { return e.phase() == idle && !e.delayed() }

func (e *entry[T]) previous() (id uint32) { return uint32(e.status >> backShift) }

func (e *entry[T]) setPrevious(id uint32) { e.status = e.status&^backMask | status(id)<<backShift }
