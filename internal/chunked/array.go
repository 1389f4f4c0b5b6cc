// Package chunked holds an array that grows without copying what it holds, and
// gives memory back piece by piece.
package chunked

const (
	chunkBits = 9
	// ChunkCells is the number of cells in a full chunk: with cells of 24 bytes
	// a chunk is exactly one of the allocator's size classes, and small enough
	// that the allocation and clearing of one is a bounded pause.
	ChunkCells = 1 << chunkBits
	cellMask   = ChunkCells - 1
	// firstCells is where the first chunk starts, so that an array of a few
	// cells costs a few cells. It doubles, by copying, up to ChunkCells.
	firstCells = 8
)

// An Array holds cells of type E at uint32 positions. Cells that are not held
// need no memory: a chunk is allocated with its first held cell and released with
// its last. Growing by chunks replaces growing by append: copying a large slab
// while its lock is held stopped everybody else for milliseconds.
//
// The zero Array is ready to use. It is not safe for concurrent use.
type Array[E any] struct {
	chunks []chunk[E]
	// spare is one released chunk, kept so that a load that moves
	// back and forth over a chunk's edge does not allocate each time.
	spare []E
}

type chunk[E any] struct {
	cells []E
	held  int
}

// At returns the cell at position i, which must be held. The pointer is valid
// until the next Hold or Release.
func (a *Array[E]) At(i uint32) *E {
	return &a.chunks[i>>chunkBits].cells[i&cellMask]
}

// Lookup is like At, but returns nil where no memory stands behind i.
func (a *Array[E]) Lookup(i uint32) *E {
	c := int(i >> chunkBits)
	if c >= len(a.chunks) || int(i&cellMask) >= len(a.chunks[c].cells) {
		return nil
	}
	return &a.chunks[c].cells[i&cellMask]
}

// Hold puts memory behind position i and counts it as held. The cell is zero if
// its last holder left it so. Each Hold is to be paired with one Release.
func (a *Array[E]) Hold(i uint32) *E {
	c := int(i >> chunkBits)
	for c >= len(a.chunks) {
		a.chunks = append(a.chunks, chunk[E]{})
	}
	chunk := &a.chunks[c]
	if int(i&cellMask) >= len(chunk.cells) {
		a.grow(c, int(i&cellMask))
	}
	chunk.held++
	return &chunk.cells[i&cellMask]
}

// Release counts position i as no longer held, and reports whether that took away
// the memory of its chunk (the first chunk keeps its memory). The caller has zeroed
// the cell, or leaves in it only what a later holder may find.
func (a *Array[E]) Release(i uint32) (emptied bool) {
	c := int(i >> chunkBits)
	chunk := &a.chunks[c]
	chunk.held--
	if chunk.held > 0 || c == 0 {
		return false // the first chunk stays: most arrays never need another
	}
	if a.spare == nil {
		a.spare = chunk.cells
	}
	chunk.cells = nil
	a.trim()
	return true
}

// Cells returns the number of cells that have memory behind them.
func (a *Array[E]) Cells() int {
	n := len(a.spare)
	for i := range a.chunks {
		n += len(a.chunks[i].cells)
	}
	return n
}

func (a *Array[E]) grow(c, cell int) {
	chunk := &a.chunks[c]
	if c > 0 {
		chunk.cells, a.spare = a.spare, nil
		if chunk.cells == nil {
			chunk.cells = make([]E, ChunkCells)
		}
		return
	}
	size := max(firstCells, len(chunk.cells))
	for size <= cell {
		size *= 2
	}
	grown := make([]E, size)
	copy(grown, chunk.cells)
	chunk.cells = grown
}

// trim forgets empty chunks at the end, and halves the slice of chunks once it is
// mostly unused.
func (a *Array[E]) trim() {
	n := len(a.chunks)
	for n > 1 && a.chunks[n-1].cells == nil {
		n--
	}
	a.chunks = a.chunks[:n]
	if cap(a.chunks) > 16 && n < cap(a.chunks)/4 {
		a.chunks = append(make([]chunk[E], 0, cap(a.chunks)/2), a.chunks...)
	}
}
