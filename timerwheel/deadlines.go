package timerwheel

import "github.com/shardq/shardq/internal/chunked"

// PartSize is how many timers there are in a part at most.
const PartSize = chunked.ChunkCells

// Parts returns the number of the parts that timers may be in, from 0 on. A timer's part follows from
// its id; in some there may be none.
//
// With [Wheel.Deadlines], who wants to look at all timers can do so a part at a time, and let others
// go on in between.
func (w *Wheel) Parts() int { return w.nodes.Chunks() }

// Deadlines appends the deadlines of the timers of a part, in no order that says anything; none, if
// there is no such part any more. The cost is that of a full part, or nothing if it has no memory.
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
