package chunked

import (
	"math/bits"
	"sync"
	"unsafe"
)

// A Kind knows the type of the cells of some [Cells]. It keeps full chunks that
// they gave back, for use by others, until the garbage collector frees them.
type Kind struct {
	size   uintptr
	chunk  uint32 // the cells in a full one
	make   func(n uint32) (first unsafe.Pointer)
	copy   func(to, from unsafe.Pointer, n uint32)
	spares sync.Pool
}

// KindOf returns a Kind of cells of type E.
func KindOf[E any]() *Kind {
	return &Kind{
		size:  unsafe.Sizeof(*new(E)),
		chunk: CellsOf(unsafe.Sizeof(*new(E))),
		make:  func(n uint32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(make([]E, n))) },
		copy: func(to, from unsafe.Pointer, n uint32) {
			copy(unsafe.Slice((*E)(to), n), unsafe.Slice((*E)(from), n))
		},
	}
}

// Cells is an [Array] of cells whose type only its Kind knows, so that the code
// that uses it is compiled once. It does not check positions: a cell may be read
// only between its Extend and the Drop of its chunk.
type Cells struct {
	chunks []unsafe.Pointer // the first cell of each
	size   uint32
	mask   uint32 // of a position, for the place in its chunk
	shift  uint8  // of a position, for its chunk
	first  uint32 // the cells of the first chunk
	kind   *Kind
	spare  unsafe.Pointer // as that of an Array
}

// NewCells returns cells of a kind.
func NewCells(k *Kind) Cells {
	return Cells{size: uint32(k.size), mask: k.chunk - 1, shift: uint8(bits.TrailingZeros32(k.chunk)), kind: k}
}

// At returns the cell at a position.
func (c *Cells) At(i uint32) unsafe.Pointer {
	return unsafe.Add(c.chunks[i>>c.shift], uintptr(i&c.mask)*uintptr(c.size))
}

// Lookup is At, or nil if a position has no memory.
func (c *Cells) Lookup(i uint32) unsafe.Pointer {
	if !c.has(i) {
		return nil
	}
	return c.At(i)
}

func (c *Cells) has(i uint32) bool {
	n := i >> c.shift
	return int(n) < len(c.chunks) && c.chunks[n] != nil && (n > 0 || i < c.first)
}

// Extend returns the cell at a position, and makes its chunk if necessary.
func (c *Cells) Extend(i uint32) unsafe.Pointer {
	if !c.has(i) {
		c.grow(i>>c.shift, i)
	}
	return c.At(i)
}

func (c *Cells) grow(n, i uint32) {
	for int(n) >= len(c.chunks) {
		c.chunks = append(c.chunks, nil)
	}
	if n > 0 {
		c.chunks[n] = c.newChunk()
		return
	}
	size := max(min(firstCells, c.kind.chunk), c.first)
	for size <= i {
		size *= 2
	}
	c.moveFirst(c.kind.make(size), size)
}

func (c *Cells) moveFirst(to unsafe.Pointer, size uint32) {
	c.kind.copy(to, c.chunks[0], c.first)
	c.chunks[0], c.first = to, size
}

// GrowFirst makes the first chunk a full one, for an array that will need it.
func (c *Cells) GrowFirst() {
	if c.first < c.kind.chunk {
		c.moveFirst(c.newChunk(), c.kind.chunk)
	}
}

func (c *Cells) newChunk() unsafe.Pointer {
	first := c.spare
	if c.spare = nil; first == nil {
		first, _ = c.kind.spares.Get().(unsafe.Pointer)
	}
	if first == nil {
		first = c.kind.make(c.kind.chunk)
	}
	return first
}

// Drop releases a chunk but the first. Its cells must be zero, or have no pointers.
func (c *Cells) Drop(n int) {
	if c.spare == nil {
		c.spare = c.chunks[n]
	} else {
		c.kind.spares.Put(c.chunks[n])
	}
	c.chunks[n] = nil
	last := len(c.chunks)
	for last > 1 && c.chunks[last-1] == nil {
		last--
	}
	if c.chunks = c.chunks[:last]; cap(c.chunks) > 16 && last < cap(c.chunks)/4 {
		c.chunks = append(make([]unsafe.Pointer, 0, 2*last), c.chunks...)
	}
}

// GiveBack releases all chunks. All cells must be zero or have no pointers, and must not
// be used again.
func (c *Cells) GiveBack() {
	if c.spare != nil {
		c.kind.spares.Put(c.spare)
	}
	for n, chunk := range c.chunks {
		if chunk != nil && (n > 0 || c.first == c.kind.chunk) {
			c.kind.spares.Put(chunk)
		}
	}
	*c = Cells{}
}

// Cells returns the number of cells that have memory.
func (c *Cells) Cells() (n int) {
	for i, chunk := range c.chunks {
		if i > 0 && chunk != nil {
			n += int(c.kind.chunk)
		}
	}
	if c.spare != nil {
		n += int(c.kind.chunk)
	}
	return n + int(c.first)
}

// ChunkCells returns the number of cells in a full chunk.
func (c *Cells) ChunkCells() uint32 { return c.mask + 1 }
