package shard

import (
	"runtime"

	"github.com/shardq/shardq/shard/internal/items"
)

// rowsPerHold limits what an inspection visits in one hold of a shard's lock,
// because adds wait meanwhile. What does not fit is read in pieces, by ids:
// lists change, but an entry that exists all the time is met once.
const rowsPerHold = 256

// holdsPerTurn is the number of holds after which an inspection yields, or an
// Add woken for the lock might find it locked again, and wait a millisecond.
const holdsPerTurn = 16

// withLock calls part with the lock, and returns whether part has more to
// visit.
func (sh *shard) withLock(part func() (visited int, more bool)) (more bool) {
	sh.lock()
	visited, more := part()
	sh.unlock()
	if sh.set.probe != nil {
		sh.set.probe(visited)
	}
	return more
}

// inPieces calls part for one piece after the other, each in its own hold of
// the lock, and after each between, without the lock, while it returns true.
func (sh *shard) inPieces(part func(n int) (visited int, more bool), between func() (on bool)) {
	for n, on := 0, true; on; n++ {
		more := sh.withLock(func() (int, bool) { return part(n) })
		on = between() && more
		if n%holdsPerTurn == holdsPerTurn-1 {
			runtime.Gosched()
		}
	}
}

func (sh *shard) eachEntry(visit func(id uint32, e *items.Entry), between func()) {
	sh.inPieces(func(n int) (visited int, more bool) { return sh.piece(n, visit) }, func() (on bool) {
		between()
		return true
	})
}

func (sh *shard) piece(n int, visit func(id uint32, e *items.Entry)) (visited int, more bool) {
	if sh.table == nil {
		return 0, false
	}
	return sh.table.Piece(n, rowsPerHold, func(id uint32) {
		if e := sh.table.At(id); !e.Free() {
			visit(id, e)
		}
	})
}

const stepsPerHold = 128 // bounds how long expire holds a shard's lock
