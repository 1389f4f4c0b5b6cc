package shard

import "runtime"

// rowsPerHold limits the rows, cells, timers, groups or levels that an
// inspection visits in one hold of a shard's lock, because adds wait meanwhile.
// What fits in one hold is of one moment. The rest is read in pieces, by ids:
// an entry that exists during the whole inspection is met once, although lists
// change.
const rowsPerHold = 256

// holdsPerTurn is the number of holds in a row after which an inspection yields
// its processor. An Add that was woken for the lock is often not running yet
// when the inspection locks again, and would wait on for a millisecond.
const holdsPerTurn = 16

// A probe observes the holds of inspections, in tests.
type probe struct {
	hold  func(part func() (visited int, more bool)) (more bool)
	after func()
}

// withLock calls part with the shard's lock held. part returns the number of
// rows, cells, timers and groups that it visited, and whether there is more.
func (s *Set[T]) withLock(sh *shard[T], part func() (visited int, more bool)) (more bool) {
	p := s.probe
	if p != nil {
		defer p.after()
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if p != nil {
		return p.hold(part)
	}
	_, more = part()
	return more
}

// inPieces calls part with one number after the other, each in a hold of its
// own, while there is more and between, which it calls without the lock, says
// so.
func (s *Set[T]) inPieces(sh *shard[T], part func(n int) (visited int, more bool), between func() (on bool)) {
	for n, on := 0, true; on; n++ {
		more := s.withLock(sh, func() (int, bool) { return part(n) })
		on = between() && more
		if n%holdsPerTurn == holdsPerTurn-1 {
			runtime.Gosched()
		}
	}
}

// eachEntry visits all entries of the shard, by their ids.
func (s *Set[T]) eachEntry(sh *shard[T], visit func(id uint32, e *entry[T]), between func() (on bool)) {
	s.inPieces(sh, func(n int) (visited int, more bool) {
		if sh.table == nil {
			return 0, false
		}
		return sh.table.piece(n, func(id uint32) {
			if e := sh.table.at(id); !e.free() {
				visit(id, e)
			}
		})
	}, between)
}

// piece visits the cells of a piece of the slab, a fraction of a chunk or
// several chunks, in use or not. It returns false if there is no such piece.
func (s *slab[T]) piece(n int, visit func(id uint32)) (visited int, ok bool) {
	id := uint32(n) * rowsPerHold
	end, chunks := id+rowsPerHold, int32(len(s.spaces))
	c := int32(id / s.chunkCells())
	if c >= chunks {
		return 0, false
	}
	for ; c < chunks && s.firstOf(c) < end; c++ {
		last := min(end, s.firstOf(c)+uint32(s.spaces[c].used))
		for id = max(id, s.firstOf(c)); id < last; id++ {
			visit(id)
			visited++
		}
	}
	return visited, true
}
