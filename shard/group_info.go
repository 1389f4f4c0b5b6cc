package shard

import "iter"

// GroupInfo is what a queue knows of a group.
type GroupInfo struct {
	// Group is its name.
	Group string
	// Held is how many of its items the queue holds, Ready how many of them are ready, and
	// Processing how many are in processing. The others wait.
	Held, Ready, Processing int
	// Weight is how many of its items are handed out in its turn.
	Weight int
	// HeldBack: it has something ready, and as much in processing as the limit allows.
	HeldBack bool
	// Shard is the number of its shard.
	Shard int
}

// Groups returns an iterator over the groups that have items, in no order. It goes
// from shard to shard, and reads at most rowsPerHold groups in one hold of a lock;
// none is held when it yields them. It shows each group that has items all the while,
// and none twice; a group that got its first item after the look began at its shard is
// not shown.
func (s *Set[T]) Groups() iter.Seq[GroupInfo] {
	return func(yield func(GroupInfo) bool) {
		on := true
		for sh := range s.made() {
			sh.listGroups(func(row GroupInfo) bool {
				on = yield(row)
				return on
			})
			if !on {
				return
			}
		}
	}
}

func (sh *shard[T]) listGroups(yield func(GroupInfo) bool) {
	var rows []GroupInfo
	var began *groups[T] // those that there were when the look began
	births := uint32(0)
	sh.inPieces(func(n int) (visited int, more bool) {
		if n == 0 && sh.groups != nil {
			began, births = sh.groups, sh.groups.births
		}
		if sh.groups == nil || sh.groups != began { // all of those are gone
			return 0, false
		}
		return began.names.piece(n, func(id uint32) {
			if state := began.states.Lookup(id); state != nil && state.items > 0 && int32(state.born-births) < 0 {
				rows = append(rows, sh.groupInfo(id))
			}
		})
	}, func() (on bool) {
		for i := range rows {
			if !yield(rows[i]) {
				return false
			}
		}
		rows = rows[:0]
		return true
	})
}

func (sh *shard[T]) groupInfo(id uint32) GroupInfo {
	g := sh.groups
	state := g.at(id)
	return GroupInfo{
		Group: g.names.at(id).item,
		Held:  int(state.items), Ready: int(state.ready.depth()), Processing: int(state.ready.processing),
		Weight:   int(state.weight),
		HeldBack: state.place == heldBack,
		Shard:    int(sh.number),
	}
}

// inOrder returns the groups that have something ready: those in the ring in the order of
// their turns, and then those that are held back.
func (g *groups[T]) inOrder() iter.Seq[uint32] {
	return func(yield func(id uint32) bool) {
		_ = g.goRound(g.turn, yield) && g.goRound(g.throttled, yield)
	}
}

// goRound visits the groups of a circle.
func (g *groups[T]) goRound(first uint32, visit func(id uint32) bool) (on bool) {
	for id := first; id != 0; {
		if !visit(id) {
			return false
		}
		if id = g.at(id).next; id == first {
			break
		}
	}
	return true
}
