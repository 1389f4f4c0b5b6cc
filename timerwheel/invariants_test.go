package timerwheel

import (
	"math/bits"

	"github.com/shardq/shardq/internal/chunked"
)

// failer is the subset of a test that the checks use: *testing.T, the argument
// of *testing.F and *rapid.T implement it.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkInvariants fails the test unless the wheel's redundant data agrees:
// links in both directions, places and deadlines, slots and their bits, rings
// and the count of timers, timers and the memory behind them.
func checkInvariants(t failer, w *Wheel) {
	c := &invariants{failer: t, wheel: w, filed: map[uint32]bool{}}
	for level := range levels {
		c.level(level)
	}
	c.occupiedLevels()
	c.cascading()
	if len(c.filed) != w.filed {
		c.Fatalf("%d timers in the rings, but Len is %d", len(c.filed), w.filed)
	}
	c.memory()
}

type invariants struct {
	failer
	wheel *Wheel
	// filed has the ids that were found in any ring.
	filed map[uint32]bool
}

func (c *invariants) level(level int) {
	c.Helper()
	slots := c.wheel.slots[level]
	for slot := range slotsPerLevel {
		marked := c.wheel.occupied[level]>>slot&1 == 1
		occupied := slots != nil && slots[slot] != 0
		if marked != occupied {
			c.Fatalf("level %d slot %d: occupied is %v, its bit %v", level, slot, occupied, marked)
		}
		if occupied {
			c.slot(level, slot)
		}
	}
}

func (c *invariants) slot(level, slot int) {
	c.Helper()
	w := c.wheel
	c.ring(w.slots[level][slot], func(id uint32, n *node) {
		if l, s := place(w.now, n.deadline); l != level || s != slot {
			c.Fatalf("timer %d, due at %d, is at (%d,%d), but at %d belongs at (%d,%d)",
				id, n.deadline, level, slot, w.now, l, s)
		}
		if n.deadline < w.now || n.deadline == w.now && w.cascading != 0 {
			c.Fatalf("timer %d, due at %d, is in a slot at %d", id, n.deadline, w.now)
		}
	})
}

func (c *invariants) occupiedLevels() {
	c.Helper()
	for level := range bits.Len16(^uint16(0)) {
		marked := c.wheel.occupiedLevels>>level&1 == 1
		occupied := level < levels && c.wheel.occupied[level] != 0
		if marked != occupied {
			c.Fatalf("level %d: occupied is %v, its bit %v", level, occupied, marked)
		}
	}
}

func (c *invariants) cascading() {
	c.Helper()
	if c.wheel.cascading == 0 {
		return
	}
	c.ring(c.wheel.cascading, func(id uint32, n *node) {
		if n.deadline < c.wheel.now {
			c.Fatalf("timer %d, due at %d, was passed over: the current tick is %d", id, n.deadline, c.wheel.now)
		}
	})
}

// ring walks a ring from its head to its tail.
func (c *invariants) ring(tail uint32, visit func(id uint32, n *node)) {
	c.Helper()
	previous := tail
	for {
		id := chunked.At(&c.wheel.nodes, previous).next
		n := chunked.Lookup(&c.wheel.nodes, id)
		switch {
		case id == 0 || n == nil:
			c.Fatalf("timer %d links to %d, which is no timer", previous, id)
		case c.filed[id]:
			c.Fatalf("timer %d is in two rings, or its ring does not close", id)
		case n.previous != previous:
			c.Fatalf("timer %d links to %d, which links back to %d", previous, id, n.previous)
		}
		c.filed[id] = true
		visit(id, n)
		if id == tail {
			return
		}
		previous = id
	}
}

// memory checks that a chunk other than the first has memory if and only if a
// timer is filed in it. At most one chunk is in reserve, and no cell keeps data
// of a former timer.
func (c *invariants) memory() {
	c.Helper()
	inUse, highest, cells := map[uint32]bool{0: true}, uint32(0), 0
	for id := range c.filed {
		inUse[id/chunked.ChunkCells] = true
		highest = max(highest, id)
	}
	for id := range highest + 2*chunked.ChunkCells {
		n, chunk := chunked.Lookup(&c.wheel.nodes, id), id/chunked.ChunkCells
		if chunk > 0 && (n != nil) != inUse[chunk] {
			c.Fatalf("chunk %d: in use is %v, but cell %d has memory: %v", chunk, inUse[chunk], id, n != nil)
		}
		if n == nil {
			continue
		}
		if cells++; !c.filed[id] && *n != (node{}) {
			c.Fatalf("timer %d is not filed, but leaves %+v", id, *n)
		}
	}
	if spare := chunked.Size(&c.wheel.nodes) - cells; spare != 0 && spare != chunked.ChunkCells {
		c.Fatalf("%d cells besides those of the %d chunks in use", spare, len(inUse))
	}
}
