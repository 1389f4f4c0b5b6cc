// Package chunked holds an array that grows without copying what it holds, and
// gives memory back piece by piece.
package chunked

import (
	"math/bits"
	"sync"
	"unsafe"
)

const (
	chunkBits = 9
	// ChunkCells is the number of cells in a full chunk, unless the cells are
	// large: with cells of 24 bytes a chunk is exactly one of the allocator's
	// size classes, and small enough that the allocation and clearing of one is
	// a bounded pause.
	ChunkCells = 1 << chunkBits
	// smallCell is the size of the largest cells of which a chunk has ChunkCells.
	// Larger ones halve that number as they double, which bounds the size of a
	// chunk: what one held cell keeps of others, and what growing copies.
	smallCell = 64
	// firstCells is where the first chunk starts, so that an array of a few
	// cells costs a few cells. It doubles, by copying, up to a full chunk.
	firstCells = 8
)

// CellsOf returns the number of cells of a size in a full chunk: [ChunkCells], or if
// these would take more than 32 KiB, the power of two that does not. It is at least
// 2, for callers that leave position 0 unused.
//
// The compiler knows the size of a type, and makes a constant of the result, so that
// At takes a shift and a mask. CellsOf is not generic, because then each At would load
// a dictionary for it.
func CellsOf(size uintptr) uint32 {
	return max(2, uint32(ChunkCells)>>bits.Len32(uint32(size-1)/smallCell))
}

// An Array holds cells of type E at uint32 positions. Cells that are not held
// need no memory: a chunk is allocated with its first held cell and released with
// its last. Growing by chunks replaces growing by append: copying a large slab
// while its lock is held stopped everybody else for milliseconds.
//
// The zero Array is ready to use. It is not safe for concurrent use.
type Array[E any] struct {
	// chunks is read on every access and seldom written, held the other way
	// round: apart, so that a reader's cache line is not taken away by a count.
	chunks [][]E
	held   []int32
	// spare is one released chunk, by its first cell, kept so that a load that moves
	// back and forth over a chunk's edge does not allocate each time.
	spare *E
	// others has released chunks of this array and of others; it may be nil.
	others *Spares[E]
}

// Spares have full chunks that arrays have released, for other arrays. They are kept
// until the garbage collector has run twice. All methods are safe for concurrent use,
// and a nil *Spares keeps nothing.
type Spares[E any] struct{ pool sync.Pool }

// put keeps a full chunk, by its first cell; nil is none.
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

// Share lets an empty array release its chunks to others, and take theirs. The cells of
// a chunk that it takes are as they were released.
func (a *Array[E]) Share(others *Spares[E]) { a.others = others }

// GiveBack releases all chunks. Nothing is held, and the array is not used again.
func (a *Array[E]) GiveBack() {
	a.others.put(a.spare)
	for _, chunk := range a.chunks {
		if uint32(len(chunk)) == CellsOf(unsafe.Sizeof(*new(E))) {
			a.others.put(&chunk[0])
		}
	}
	*a = Array[E]{}
}

// GrowFirst puts memory behind all positions of the first chunk, which otherwise grows to
// that in steps. The array has memory for a position in it.
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

// Lookup is like At, but returns nil where no memory stands behind i.
func (a *Array[E]) Lookup(i uint32) *E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	if c := i / n; int(c) < len(a.chunks) && int(i%n) < len(a.chunks[c]) {
		return &a.chunks[c][i%n]
	}
	return nil
}

// Hold puts memory behind position i and counts it as held. The cell is zero if
// its last holder left it so. Each Hold is to be paired with one Release.
func (a *Array[E]) Hold(i uint32) *E {
	cell := a.Extend(i)
	a.held[i/CellsOf(unsafe.Sizeof(*new(E)))]++
	return cell
}

// Release counts position i as no longer held, and reports whether that took away
// the memory of its chunk (the first chunk keeps its memory). The caller has zeroed
// the cell, or leaves in it only what a later holder may find.
func (a *Array[E]) Release(i uint32) (emptied bool) {
	c := i / CellsOf(unsafe.Sizeof(*new(E)))
	a.held[c]--
	if a.held[c] > 0 || c == 0 {
		return false // the first chunk stays: most arrays never need another
	}
	a.Drop(int(c))
	return true
}

// Chunks returns one more than the number of the last chunk that has memory.
func (a *Array[E]) Chunks() int { return len(a.chunks) }

// Chunk returns the cells of chunk c, held or not: none if it has no memory.
func (a *Array[E]) Chunk(c int) []E { return a.chunks[c] }

// Extend puts memory behind position i, for a caller who keeps the count of what
// is held himself.
func (a *Array[E]) Extend(i uint32) *E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	c := i / n
	if int(c) >= len(a.chunks) || int(i%n) >= len(a.chunks[c]) {
		a.grow(int(c), int(i%n))
	}
	return &a.chunks[c][i%n]
}

// Drop takes away the memory of chunk c, in which nothing is held. The first chunk,
// which may be smaller than the others, is not to be dropped.
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

// Cells returns the number of cells that have memory behind them.
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

// trim forgets empty chunks at the end, and cuts the slice of chunks down once it
// is mostly unused. To twice what is left, not to half of what was: the last
// release of a burst may be the one that empties thousands of chunks.
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
