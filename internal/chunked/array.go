// Package chunked implements an array that grows without copying its cells, and
// releases memory chunk by chunk.
package chunked

import (
	"math/bits"
	"sync"
	"unsafe"
)

const (
	chunkBits = 9
	// ChunkCells is the number of cells in a full chunk, unless the cells are
	// large. With cells of 24 bytes, a chunk is exactly one of the allocator's
	// size classes. It is small enough that its allocation and clearing is a
	// bounded pause.
	ChunkCells = 1 << chunkBits
	// smallCell is the size of the largest cells of which a chunk has
	// ChunkCells. For larger cells the number halves as their size doubles.
	// That bounds the size of a chunk, the memory that one held cell keeps
	// alive, and what growing copies.
	smallCell = 64
	// firstCells is the initial size of the first chunk, so that an array of a
	// few cells is small. The first chunk doubles, by copying, up to a full
	// chunk.
	firstCells = 8
)

// CellsOf returns the number of cells of the given size in a full chunk. That
// is [ChunkCells], or the largest power of two that fits into 32 KiB if that is
// less. The result is at least 2, for callers that leave position 0 unused.
//
// The compiler knows the size of a type and makes the result a constant, so
// that At takes a shift and a mask. CellsOf is not generic, because each At
// would then load a dictionary.
func CellsOf(size uintptr) uint32 {
	return max(2, uint32(ChunkCells)>>bits.Len32(uint32(size-1)/smallCell))
}

// An Array holds cells of type E at uint32 positions. A chunk is allocated with
// its first held cell and released with its last, so unused ranges need no
// memory. The array grows by chunks because growing by append copied a large
// slab under its lock, which stopped other goroutines for milliseconds.
//
// The zero Array is ready to use. It is not safe for concurrent use.
type Array[E any] struct {
	// chunks is read on every access and rarely written. held is rarely read
	// and often written. They are separate so that a count does not invalidate
	// a reader's cache line.
	chunks [][]E
	held   []int32
	// spare is the first cell of one released chunk. It is kept so that a load
	// that moves back and forth over the edge of a chunk does not allocate each
	// time.
	spare *E
	// others has released chunks of this array and of others. It may be nil.
	others *Spares[E]
}

// Spares has full chunks that arrays released, for use by other arrays. The
// garbage collector frees them after two cycles. All methods are safe for
// concurrent use. A nil *Spares keeps nothing.
type Spares[E any] struct{ pool sync.Pool }

// put adds a full chunk, given by its first cell. If nil, put does nothing.
func (s *Spares[E]) put(first *E) {
	if s != nil && first != nil {
		s.pool.Put(first)
	}
}

func (s *Spares[E]) take() (first *E) {
	if s != nil {
		first, _ = s.pool.Get().(*E)
	}
	return first
}

// Share makes an empty array release its chunks to others, and take chunks from
// it. A taken chunk has the contents with which it was released.
func (a *Array[E]) Share(others *Spares[E]) { a.others = others }

// GiveBack releases all chunks. No cell may be held, and the array must not be
// used again.
func (a *Array[E]) GiveBack() {
	a.others.put(a.spare)
	for _, chunk := range a.chunks {
		if uint32(len(chunk)) == CellsOf(unsafe.Sizeof(*new(E))) {
			a.others.put(&chunk[0])
		}
	}
	*a = Array[E]{}
}

// GrowFirst grows the first chunk to its full size, which it otherwise reaches
// in steps. The array must have memory for a position in that chunk.
func (a *Array[E]) GrowFirst() {
	if first := a.chunks[0]; uint32(len(first)) < CellsOf(unsafe.Sizeof(*new(E))) {
		a.chunks[0] = a.newChunk()
		copy(a.chunks[0], first)
	}
}

// newChunk returns a full chunk.
func (a *Array[E]) newChunk() []E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	first := a.spare
	if a.spare = nil; first == nil {
		first = a.others.take()
	}
	if first == nil {
		return make([]E, n)
	}
	return unsafe.Slice(first, n)
}

// At returns the cell at position i, which must be held. The pointer is valid
// until the next Hold or Release.
func (a *Array[E]) At(i uint32) *E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	return &a.chunks[i/n][i%n]
}

// Lookup is like At, but returns nil if position i has no memory.
func (a *Array[E]) Lookup(i uint32) *E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	if c := i / n; int(c) < len(a.chunks) && int(i%n) < len(a.chunks[c]) {
		return &a.chunks[c][i%n]
	}
	return nil
}

// Hold allocates memory for position i, if necessary, and counts the position
// as held. The cell is zero if its last holder left it so. Each Hold needs one
// Release.
func (a *Array[E]) Hold(i uint32) *E {
	cell := a.Extend(i)
	a.held[i/CellsOf(unsafe.Sizeof(*new(E)))]++
	return cell
}

// Release counts position i as no longer held. It reports whether that released
// the memory of its chunk. The first chunk keeps its memory. Before Release,
// the caller zeroes the cell, or leaves in it what a later holder may see.
func (a *Array[E]) Release(i uint32) (emptied bool) {
	c := i / CellsOf(unsafe.Sizeof(*new(E)))
	a.held[c]--
	if a.held[c] > 0 || c == 0 {
		return false // most arrays need only the first chunk
	}
	a.Drop(int(c))
	return true
}

// Chunks returns one more than the number of the last chunk that has memory.
func (a *Array[E]) Chunks() int { return len(a.chunks) }

// Chunk returns the cells of chunk c, held or not. If the chunk has no memory,
// it returns nil.
func (a *Array[E]) Chunk(c int) []E { return a.chunks[c] }

// Extend allocates memory for position i, if necessary. It is for callers that
// count held cells themselves.
func (a *Array[E]) Extend(i uint32) *E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	c := i / n
	if int(c) >= len(a.chunks) || int(i%n) >= len(a.chunks[c]) {
		a.grow(int(c), int(i%n))
	}
	return &a.chunks[c][i%n]
}

// Drop releases the memory of chunk c, in which no cell may be held. The caller
// must not drop the first chunk, which may be smaller than the others.
func (a *Array[E]) Drop(c int) {
	if a.spare == nil {
		a.spare = &a.chunks[c][0]
	} else {
		a.others.put(&a.chunks[c][0])
	}
	a.chunks[c] = nil
	a.trim()
}

// Clear zeroes the cells of chunk c.
func (a *Array[E]) Clear(c int) { clear(a.chunks[c]) }

// Cells returns the number of cells that have memory.
func (a *Array[E]) Cells() int {
	n := 0
	if a.spare != nil {
		n = int(CellsOf(unsafe.Sizeof(*new(E))))
	}
	for i := range a.chunks {
		n += len(a.chunks[i])
	}
	return n
}

func (a *Array[E]) grow(c, cell int) {
	for c >= len(a.chunks) {
		a.chunks = append(a.chunks, nil)
		a.held = append(a.held, 0)
	}
	if c > 0 {
		a.chunks[c] = a.newChunk()
		return
	}
	size := max(min(firstCells, int(CellsOf(unsafe.Sizeof(*new(E))))), len(a.chunks[0]))
	for size <= cell {
		size *= 2
	}
	grown := make([]E, size)
	copy(grown, a.chunks[0])
	a.chunks[0] = grown
}

// trim removes empty chunks at the end, and shrinks the slice of chunks if it
// is mostly unused. The new capacity is twice the remaining length, not half of
// the old capacity, because the last release of a burst may empty thousands of
// chunks.
func (a *Array[E]) trim() {
	n := len(a.chunks)
	for n > 1 && a.chunks[n-1] == nil {
		n--
	}
	a.chunks, a.held = a.chunks[:n], a.held[:n]
	if cap(a.chunks) > 16 && n < cap(a.chunks)/4 {
		a.chunks = append(make([][]E, 0, 2*n), a.chunks...)
		a.held = append(make([]int32, 0, 2*n), a.held...)
	}
}
