package shard

// entry is everything that a shard knows of an item, in one place: where
// client-go keeps a dirty set, a processing set and a heap node. With string items
// it is 32 bytes, so that no entry crosses a cache line. What only some items need
// stands in columns of its own, indexed by the entry's id, that have memory where
// they are used (timers: timerwheel).
type entry[T comparable] struct {
	item T
	// next links the list that the entry is in, if it is in one: that of a run queue
	// (ready), those in processing (if the queue keeps ages), or the chunk's free list.
	next uint32
	// status has the phase, whether the item waits, and the link back in the list.
	status status
	// hash is the item's: it finds the slot of the index without reading the item.
	hash uint32
	// fence is the low half of the fence of the last hand-out: see Handle.
	fence uint32
}

// A status packs what would take eight bytes more in fields of its own. From the lowest
// bit: the phase (two bits); a bit that says that the wheel holds a timer under the
// entry's id; and the id of the entry before this one.
type status uint32

const (
	phaseMask status = 1<<2 - 1
	waits     status = 1 << 2
	// backShift is where the link back begins: ids have 29 bits.
	backShift = 3
	backMask  = ^(phaseMask | waits)
)

// maxIDs is the number of ids in a shard, with 0, which is none.
const maxIDs = 1 << (32 - backShift)

func (e *entry[T]) phase() phase { return phase(e.status & phaseMask) }

func (e *entry[T]) setPhase(p phase) { e.status = e.status&^phaseMask | status(p) }

func (e *entry[T]) waiting() bool { return e.status&waits != 0 }

func (e *entry[T]) setWaiting(w bool) {
	if w {
		e.status |= waits
	} else {
		e.status &^= waits
	}
}

// inFlight reports whether the item is in processing, dirty or not.
func (e *entry[T]) inFlight() bool { return e.phase() >= processing }

// free reports whether a cell of the slab has no entry: one in phase idle waits.
func (e *entry[T]) free() bool { return e.phase() == idle && !e.waiting() }

func (e *entry[T]) previous() (id uint32) { return uint32(e.status >> backShift) }

func (e *entry[T]) setPrevious(id uint32) { e.status = e.status&^backMask | status(id)<<backShift }
