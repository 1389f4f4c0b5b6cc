package timerwheel

import "github.com/shardq/shardq/internal/chunked"

// ChunkSize is the largest number of timers in a chunk.
const ChunkSize = chunked.ChunkCells

// Chunks returns the number of chunks, which are numbered from 0. A timer's id
// determines its chunk. A chunk may be empty.
//
// A caller can visit all timers one chunk at a time with [Wheel.Deadlines], and
// release its lock in between.
func (w *Wheel) Chunks() int { return w.nodes.Chunks() }

// Deadlines appends the deadlines of the timers of a chunk to deadlines, in no
// particular order. The cost is that of a full chunk, or nothing if the chunk
// has no memory.
//
// If there is no such chunk, Deadlines appends nothing.
func (w *Wheel) Deadlines(chunk int, deadlines []uint64) []uint64 {
	if chunk >= w.nodes.Chunks() {
		return deadlines
	}
	nodes := w.nodes.Chunk(chunk)
	for i := range nodes {
		if nodes[i].next != 0 {
			deadlines = append(deadlines, nodes[i].deadline)
		}
	}
	return deadlines
}
