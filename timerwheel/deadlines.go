package timerwheel

import "github.com/shardq/shardq/internal/chunked"

// PartSize is the largest number of timers in a part.
const PartSize = chunked.ChunkCells

// Parts returns the number of parts, which are numbered from 0. A timer's id
// determines its part. A part may be empty.
//
// A caller can visit all timers one part at a time with [Wheel.Deadlines], and
// release its lock in between.
func (w *Wheel) Parts() int { return w.nodes.Chunks() }

// Deadlines appends the deadlines of the timers of a part to deadlines, in no
// particular order. The cost is that of a full part, or nothing if the part has
// no memory.
//
// If there is no such part, Deadlines appends nothing.
func (w *Wheel) Deadlines(part int, deadlines []uint64) []uint64 {
	if part >= w.nodes.Chunks() {
		return deadlines
	}
	nodes := w.nodes.Chunk(part)
	for i := range nodes {
		if nodes[i].next != 0 {
			deadlines = append(deadlines, nodes[i].deadline)
		}
	}
	return deadlines
}
