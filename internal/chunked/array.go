// Package chunked implements an array that grows without copying its cells, and
// releases memory chunk by chunk.
package chunked

import (
	"math/bits"
	"unsafe"
)

const (
	ChunkCells = 512 // cells in a full chunk, unless they are large
	// smallCell is the size beyond which chunks have fewer cells, to bound the
	// memory that one held cell keeps alive.
	smallCell  = 64
	firstCells = 8 // of the first chunk, which doubles by copying
)

// CellsOf returns the number of cells of the given size in a full chunk:
// [ChunkCells], or the largest power of two that fits into 32 KiB, but at least
// 2, for callers that leave position 0 unused. The compiler makes it a
// constant, so that At takes a shift and a mask. If it were generic, each At
// would load a dictionary.
func CellsOf(size uintptr) uint32 {
	return max(2, uint32(ChunkCells)>>bits.Len32(uint32(size-1)/smallCell))
}

// An Array holds cells at uint32 positions. A chunk is allocated with its first
// held cell and released with its last: growing by append would copy a large
// slab under its lock, for milliseconds. It is not safe for concurrent use.
//
// It has no methods: each package that reads a struct with an Array in it, also
// a user's, would compile all of them again.
type Array[E any] struct {
	// held is written often, and so apart from the cells that others read.
	chunks [][]E
	held   []int32
	spare  *E // the first cell of a released chunk, for a load that moves over its edge
}

func newChunkOf[E any](a *Array[E]) []E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	first := a.spare
	if a.spare = nil; first == nil {
		return make([]E, n)
	}
	return unsafe.Slice(first, n)
}

// At returns the cell at position i, which must be held. The pointer is valid
// until the next Hold or Release.
func At[E any](a *Array[E], i uint32) *E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	return &a.chunks[i/n][i%n]
}

// Lookup is At, or nil if position i has no memory.
func Lookup[E any](a *Array[E], i uint32) *E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	if c := i / n; int(c) < len(a.chunks) && int(i%n) < len(a.chunks[c]) {
		return &a.chunks[c][i%n]
	}
	return nil
}

// Hold counts position i as held, until one Release.
func Hold[E any](a *Array[E], i uint32) *E {
	cell := Extend(a, i)
	a.held[i/CellsOf(unsafe.Sizeof(*new(E)))]++
	return cell
}

// Release releases a chunk without held cells, unless it is the first. A later
// holder may see what the caller leaves in the cell.
func Release[E any](a *Array[E], i uint32) {
	c := i / CellsOf(unsafe.Sizeof(*new(E)))
	a.held[c]--
	if a.held[c] == 0 && c > 0 { // most arrays need only the first chunk
		Drop(a, int(c))
	}
}

// Chunks returns the number of the last chunk that has memory, plus one.
func Chunks[E any](a *Array[E]) int { return len(a.chunks) }

// Chunk returns the cells of chunk c, held or not, or nil if it has no memory.
func Chunk[E any](a *Array[E], c int) []E { return a.chunks[c] }

// Extend is like Hold, for callers that count held cells themselves.
func Extend[E any](a *Array[E], i uint32) *E {
	n := CellsOf(unsafe.Sizeof(*new(E)))
	c := i / n
	if int(c) >= len(a.chunks) || int(i%n) >= len(a.chunks[c]) {
		grow(a, int(c), int(i%n))
	}
	return &a.chunks[c][i%n]
}

// Drop releases chunk c, in which no cell may be held. It must not be the
// first, which may be smaller than the others.
func Drop[E any](a *Array[E], c int) {
	if a.spare == nil {
		a.spare = &a.chunks[c][0]
	}
	a.chunks[c] = nil
	trim(a)
}

func Clear[E any](a *Array[E], c int) { clear(a.chunks[c]) }

func Size[E any](a *Array[E]) int {
	n := 0
	if a.spare != nil {
		n = int(CellsOf(unsafe.Sizeof(*new(E))))
	}
	for _, chunk := range a.chunks {
		n += len(chunk)
	}
	return n
}

func grow[E any](a *Array[E], c, cell int) {
	for c >= len(a.chunks) {
		a.chunks = append(a.chunks, nil)
		a.held = append(a.held, 0)
	}
	if c > 0 {
		a.chunks[c] = newChunkOf(a)
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

// trim removes empty chunks at the end. A burst may leave thousands.
func trim[E any](a *Array[E]) {
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
