package shard

// How groups are served. Within a shard each group in the ring is handed out as much as it
// weighs, in its turn; and a consumer stays with a shard for a round, which hands out as
// much as the groups in the ring weigh together, so that a group in a shard with many others
// gets as much as one that has a shard for itself.

// takeFairly is take for a set with groups.
func (s *Set[T]) takeFairly() (item T, priority int, h Handle, ok bool) {
	lane := s.lane()
	for {
		sh := s.lockInTurn(lane)
		if sh == nil {
			return item, 0, Handle{}, false
		}
		var over bool
		item, priority, h, over, ok = sh.takeInTurn()
		sh.mu.Unlock()
		if over {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		if ok || len(s.shards) == 1 {
			return item, priority, h, ok
		}
		// Another consumer emptied the shard between our look and its lock.
	}
}

func (s *Set[T]) lockInTurn(lane *lane) *shard[T] {
	if len(s.shards) == 1 {
		s.shard(0).mu.Lock()
		return s.shard(0)
	}
	return s.lockReady(lane.turn.Load())
}

// takeInTurn hands out an item of the group whose turn it is. It also reports whether the
// round is over.
func (sh *shard[T]) takeInTurn() (item T, priority int, h Handle, over, ok bool) {
	g := sh.groups
	if g == nil || g.turn == 0 {
		return item, 0, h, false, false
	}
	g.left = min(g.left, g.weights) // it may have been of groups that are gone
	of := g.turn
	state := g.at(of)
	item, priority, h, ok = sh.take(&state.ready, false)
	g.processing++
	sh.hold(of, state)
	if state.place == inRing {
		g.serve(state)
	}
	if g.left--; g.left <= 0 {
		g.left, over = g.weights, true
	}
	return item, priority, h, over, ok
}

// serve counts what the group whose turn it is was handed out, and ends its turn when that
// is as much as it weighs.
func (g *groups[T]) serve(state *group[T]) {
	if state.served++; state.served >= state.weight {
		state.served, g.turn = 0, state.next
	}
}

// mayLeave reports whether a shutdown is complete and nothing is held back, so that a consumer
// that finds nothing ready need not wait. Otherwise whoever frees what is held back last wakes
// the sleepers.
func (s *Set[T]) mayLeave() bool {
	_, count := s.heldBack.read()
	return s.closing.complete.Load() && count == 0
}
