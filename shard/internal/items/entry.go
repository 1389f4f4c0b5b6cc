package items

import (
	"unsafe"

	"github.com/shardq/shardq/internal/chunked"
)

// An Entry is what a shard knows of an item. What only some items need is in
// columns.
type Entry struct {
	Next   uint32 // in a line, the list of processings or the free list
	status status
	Hash   uint32 // finds the slot of the index without reading the item
	Fence  uint32 // the low half of the fence of the last hand-out: a shard numbers its hand-outs
}

// A cell has the entry first, so that code that needs no item is compiled once
// for all types. With string items it is 32 bytes, so that none crosses a cache
// line.
type cell[T comparable] struct {
	Entry
	item T
}

// Of returns the item of an entry of a table of such items.
func Of[T comparable](e *Entry) *T { return &(*cell[T])(unsafe.Pointer(e)).item }

// A status packs the phase, whether a timer is filed, and the previous id.
type status uint32

const (
	phaseMask  status = 1<<2 - 1
	delayedBit status = 1 << 2
	backShift         = 3 // of the link back: ids have 29 bits
	backMask          = ^(phaseMask | delayedBit)
)

const MaxIDs = 1 << (32 - backShift) // in a shard, including 0, which means none

func (e *Entry) Phase() Phase     { return Phase(e.status & phaseMask) }
func (e *Entry) setPhase(p Phase) { e.status = e.status&^phaseMask | status(p) }

func (e *Entry) Delayed() bool { return e.status&delayedBit != 0 }

func (e *Entry) SetDelayed(w bool) {
	if w {
		e.status |= delayedBit
	} else {
		e.status &^= delayedBit
	}
}

func (e *Entry) InFlight() bool { return e.Phase() >= Processing }

// Free reports whether a cell has no entry: an idle item has one only while it
// is delayed.
func (e *Entry) Free() bool { return e.Phase() == Idle && !e.Delayed() }

func (e *Entry) Previous() (id uint32) { return uint32(e.status >> backShift) }
func (e *Entry) setPrevious(id uint32) { e.status = e.status&^backMask | status(id)<<backShift }

// A column has a cell for each id, for data that only some queues or items
// need. A cell has at most 64 bytes, and is zero when new.
type column struct {
	cells any
	drop  func(chunk int) // clears a chunk, none of whose ids is in use
}

// AddColumn makes the table give back chunks of cells whose ids have no
// entries.
func AddColumn[E any](t *Table, cells *chunked.Array[E]) {
	t.columns = append(t.columns, column{cells, func(chunk int) {
		if chunked.Lookup(cells, uint32(chunk)*chunked.ChunkCells) != nil {
			chunked.Clear(cells, chunk) // because the memory is reused
			chunked.Drop(cells, chunk)
		}
	}})
}

// A List is linked through entries. An entry is in at most one.
type List struct {
	Head, Tail uint32 // neither the head's previous link nor an empty list's tail is kept
	Length     int32
}

func (s *slab) Join(f *List, id uint32, e *Entry) {
	e.Next = 0
	if f.Head == 0 {
		f.Head = id
	} else {
		s.At(f.Tail).Next = id
		e.setPrevious(f.Tail)
	}
	f.Tail = id
	f.Length++
}

func (s *slab) JoinFirst(f *List, id uint32, e *Entry) {
	e.Next = f.Head
	if f.Head == 0 {
		f.Tail = id
	} else {
		s.At(f.Head).setPrevious(id)
	}
	f.Head = id
	f.Length++
}

func (s *slab) Unlink(f *List, id uint32, e *Entry) {
	f.Length--
	next, previous := e.Next, e.Previous()
	if id == f.Head {
		f.Head = next
		return
	}
	s.At(previous).Next = next
	if id == f.Tail {
		f.Tail = previous
		return
	}
	s.At(next).setPrevious(previous)
}

func (s *slab) Walk(f *List, visit func(id uint32) bool) (on bool) {
	for id := f.Head; id != 0; id = s.At(id).Next {
		if !visit(id) {
			return false
		}
	}
	return true
}
