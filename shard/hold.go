package shard

import "runtime"

// How an inspection holds the lock of a shard. All adds to the shard wait
// meanwhile, so a hold is bounded, whatever the number of items, groups and
// priorities. What fits in one hold is of one moment. The rest is read in
// pieces, by the ids of the entries (or of the groups). An id stays the same
// while the entry exists, but the lists that entries are in change between two
// holds. An entry that exists during the whole inspection is therefore met
// once.

// rowsPerHold limits the rows of a kind that an inspection copies in one hold,
// and the cells, timers, groups or levels that it visits for them.
const rowsPerHold = 256

// holdsPerTurn is the number of holds in a row after which an inspection yields
// its processor. An Add that waited for the lock and was woken is often not
// running yet when the inspection locks again. It would wait on, until
// sync.Mutex prefers it after a millisecond.
const holdsPerTurn = 16

// A probe observes the holds of inspections, in tests. The set calls hold with
// the lock held, and after once it is released.
type probe struct {
	hold  func(part func() (visited int, more bool)) (more bool)
	after func()
}

// withLock calls part with the shard's lock held. part returns the number of
// rows, cells, timers and groups that it visited, and whether there is more to
// inspect. withLock returns the latter.
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

// inPieces calls part with one number after the other, while there is more. It
// takes the lock for each call. After each call it calls between with no lock
// held, which reports whether to go on.
func (s *Set[T]) inPieces(sh *shard[T], part func(n int) (visited int, more bool), between func() (on bool)) {
	for n, on := 0, true; on; n++ {
		more := s.withLock(sh, func() (int, bool) { return part(n) })
		on = between() && more
		if n%holdsPerTurn == holdsPerTurn-1 {
			runtime.Gosched()
		}
	}
}

// eachEntry visits all entries of the shard, in the order of their ids. It
// calls between as inPieces does.
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

// piece visits the cells of one of the pieces of the slab, in use or not. It
// returns false if there is no such piece. A piece may be a fraction of a
// chunk, or several chunks.
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
