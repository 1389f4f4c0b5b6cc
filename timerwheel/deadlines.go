package timerwheel

import "github.com/shardq/shardq/internal/chunked"

// PartSize is how many timers there are in a part at most.
const PartSize = chunked.ChunkCells

// Parts appends the numbers of the parts that the timers are in. A timer's part follows from its id.
// There is one for each [PartSize] of the ids in use: the cost is that of the list.
//
// With [Wheel.Deadlines], who wants to look at all timers can do so a part at a time, and let others
// go on in between.
func (w *Wheel) Parts(parts []int) []int {
	for part := range w.nodes.Chunks() {
		if w.nodes.Chunk(part) != nil {
			parts = append(parts, part)
		}
	}
	return parts
}

// Deadlines appends the deadlines of the timers of a part, in no order that says anything; none, if
// there is no such part any more. The cost is that of a full part.
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
