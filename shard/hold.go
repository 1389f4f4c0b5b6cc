package shard

import "runtime"

// How a look takes the lock of a shard. While it holds the lock, all who add to the
// shard wait: so a hold is bounded, whatever the number of items, groups and
// priorities. What fits in one hold is of one moment. What does not is read in
// pieces, by the ids of the entries (or of the groups): an id stays the same for as
// long as the entry is there, while the lists that entries are in change from one
// hold to the next. So an entry that is there all the while is met once.

// rowsPerHold is how many rows of a kind a look copies at most in one hold, and how
// many cells, timers, groups or levels it visits for that.
const rowsPerHold = 256

// holdsPerTurn is after how many holds in a row a look yields its processor. An Add
// that waits for the lock and was woken is often not there yet when the look comes
// for it again, and waits on, until sync.Mutex lets it pass after a millisecond.
const holdsPerTurn = 16

// A probe sees the holds of looks, in tests. It calls part with the lock held, and
// after is called when it is free again.
type probe struct {
	hold  func(part func() (visited int, more bool)) (more bool)
	after func()
}

// look calls part with the shard's lock held. Part returns how many rows, cells,
// timers and groups it visited, and whether there is more to look at; so does look.
func (sh *shard[T]) look(part func() (visited int, more bool)) (more bool) {
	p := sh.set.probe
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

// inPieces calls part with one number after the other, each in a hold of its own,
// while there is more, and between after each with no lock held, which reports
// whether to go on.
func (sh *shard[T]) inPieces(part func(n int) (visited int, more bool), between func() (on bool)) {
	for n, on := 0, true; on; n++ {
		more := sh.look(func() (int, bool) { return part(n) })
		on = between() && more
		if n%holdsPerTurn == holdsPerTurn-1 {
			runtime.Gosched()
		}
	}
}

// eachEntry visits all entries of the shard, in the order of their ids.
func (sh *shard[T]) eachEntry(visit func(id uint32, e *entry[T]), between func() (on bool)) {
	sh.inPieces(func(n int) (visited int, more bool) {
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

// piece visits the cells of one of the pieces of the slab, in use or not. It reports
// false if there is no such piece. A piece may be part of a chunk, or several chunks.
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
