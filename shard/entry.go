package shard

import (
	"reflect"
	"unsafe"

	"github.com/shardq/shardq/internal/chunked"
)

// An entry is what a shard knows of an item. What only some items need is in
// columns.
type entry struct {
	next   uint32 // in a run queue, the list of processings or the free list
	status status
	hash   uint32 // finds the slot of the index without reading the item
	fence  uint32 // the low half of the fence of the last hand-out: see Handle
}

// A cell has the entry first, so that code that needs no item is compiled once
// for all types. With string items it is 32 bytes, so that none crosses a cache
// line.
type cell[T comparable] struct {
	entry
	item T
}

// itemOf returns the item of an entry of a table of such items.
func itemOf[T comparable](e *entry) *T { return &(*cell[T])(unsafe.Pointer(e)).item }

// An itemType is what a table knows of its items.
type itemType struct {
	cells *chunked.Kind
	text  bool           // they are strings
	clear func(e *entry) // nil if they have no pointers
}

func itemTypeOf[T comparable]() *itemType {
	t := &itemType{cells: chunked.KindOf[cell[T]](), text: reflect.TypeFor[T]().Kind() == reflect.String}
	if hasPointers(reflect.TypeFor[T]()) {
		t.clear = func(e *entry) { *itemOf[T](e) = *new(T) }
	}
	return t
}

func hasPointers(t reflect.Type) bool {
	switch kind := t.Kind(); kind {
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	default:
		return kind > reflect.Complex128
	}
}

// A status packs the phase, whether a timer is filed, and the previous id.
type status uint32

const (
	phaseMask  status = 1<<2 - 1
	delayedBit status = 1 << 2
	backShift         = 3 // of the link back: ids have 29 bits
	backMask          = ^(phaseMask | delayedBit)
)

const maxIDs = 1 << (32 - backShift) // in a shard, including 0, which means none

func (e *entry) phase() phase     { return phase(e.status & phaseMask) }
func (e *entry) setPhase(p phase) { e.status = e.status&^phaseMask | status(p) }

func (e *entry) delayed() bool { return e.status&delayedBit != 0 }

func (e *entry) setDelayed(w bool) {
	if w {
		e.status |= delayedBit
	} else {
		e.status &^= delayedBit
	}
}

func (e *entry) inFlight() bool { return e.phase() >= processing }

// free reports whether a cell has no entry: an idle entry is delayed.
func (e *entry) free() bool { return e.phase() == idle && !e.delayed() }

func (e *entry) previous() (id uint32) { return uint32(e.status >> backShift) }
func (e *entry) setPrevious(id uint32) { e.status = e.status&^backMask | status(id)<<backShift }

// A column has cells by ids for what only some queues or items need.
type column interface {
	// drop releases a chunk, none of whose ids is in use.
	drop(chunk int)
}

// cells have at most 64 bytes each, and are zero when new.
type cells[E any] struct{ chunked.Array[E] }

func (c *cells[E]) drop(chunk int) {
	if c.Lookup(uint32(chunk)*chunked.ChunkCells) != nil {
		c.Clear(chunk) // because the memory is reused
		c.Drop(chunk)
	}
}

// A fifo is a list linked through entries. An entry is in at most one.
type fifo struct {
	head, tail uint32 // neither the head's previous link nor an empty list's tail is kept
	length     int32
}

func (s *slab) join(f *fifo, id uint32, e *entry) {
	e.next = 0
	if f.head == 0 {
		f.head = id
	} else {
		s.at(f.tail).next = id
		e.setPrevious(f.tail)
	}
	f.tail = id
	f.length++
}

func (s *slab) joinFirst(f *fifo, id uint32, e *entry) {
	e.next = f.head
	if f.head == 0 {
		f.tail = id
	} else {
		s.at(f.head).setPrevious(id)
	}
	f.head = id
	f.length++
}

func (s *slab) unlink(f *fifo, id uint32, e *entry) {
	f.length--
	next, previous := e.next, e.previous()
	if id == f.head {
		f.head = next
		return
	}
	s.at(previous).next = next
	if id == f.tail {
		f.tail = previous
		return
	}
	s.at(next).setPrevious(previous)
}

func (s *slab) walk(f *fifo, visit func(id uint32) bool) (on bool) {
	for id := f.head; id != 0; id = s.at(id).next {
		if !visit(id) {
			return false
		}
	}
	return true
}
