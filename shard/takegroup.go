package shard

// The groups of a shard take turns, and in its turn each is handed out its
// weight. A consumer stays with a shard for a round, in which the shard hands
// out the weights of all its groups together. So a group in a shard with many
// others gets as much as one that is alone in its shard.

func (s *Set[T]) takeRoundRobin(now uint64) (item T, priority int, h Handle, ok bool) {
	lane := s.lane()
	for {
		sh := s.lockInTurn(lane)
		if sh == nil {
			return item, 0, Handle{}, false
		}
		if now == 0 && sh.groups != nil && sh.groups.rated {
			sh.mu.Unlock() // the group got its first rate since the take began
			now = s.readForRate()
			continue
		}
		var over bool
		item, priority, h, over, ok = sh.takeInTurn(now)
		fx := sh.regrouped()
		sh.mu.Unlock()
		if fx != 0 {
			s.driver.pokeKeeping()
		}
		if over {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		if ok || len(s.shards) == 1 {
			return item, priority, h, ok
		}
		// Another consumer emptied the shard before it was locked.
	}
}

func (s *Set[T]) lockInTurn(lane *lane) *shard[T] {
	if len(s.shards) == 1 {
		s.shard(0).mu.Lock()
		return s.shard(0)
	}
	return s.lockReady(lane.turn.Load())
}

func (sh *shard[T]) takeInTurn(now uint64) (item T, priority int, h Handle, over, ok bool) {
	g := sh.groups
	if g == nil || g.best.turn == 0 {
		return item, 0, h, false, false
	}
	g.left = min(g.left, g.weights) // groups of this round may be gone
	c := g.next(uint32(sh.set.config.LowPriorityInterval))
	of := c.turn
	state := g.at(of)
	item, priority, h, ok = sh.take(&state.ready, false)
	g.processing++
	if state.hasBucket {
		sh.spend(of, state, now)
	}
	sh.throttleIfBlocked(of, state)
	if state.in == c {
		serve(c, state)
	}
	if g.left--; g.left <= 0 {
		g.left, over = g.weights, true
	}
	return item, priority, h, over, ok
}

func serve[T comparable](c *circle, state *group[T]) {
	if state.served++; state.served >= state.weight {
		state.served, c.turn = 0, state.next
	}
}

// mayLeave reports whether a consumer that finds nothing ready may leave: a
// shutdown is complete, and nothing is to be handed out later. Otherwise the
// call that ends the last throttling wakes the parked consumers.
//
// The race to lose: all throttled groups are paused; a consumer reads their
// count; one is freed; the consumer reads the count of paused groups, when as
// many others are paused, and leaves beside a ready item. It cannot happen,
// because each change of either count changes the word
// that await reads before and after. A group is counted as throttled before it
// is counted as paused, and the reverse when it is freed.
func (s *Set[T]) mayLeave() bool { return s.closing.complete.Load() && !s.handsOutLater() }

// handsOutLater reports whether something is ready, behind a closed gate or in
// a throttled group, that consumers wait for. Drains and consumers wait for
// what is paused, until ShutDown is called, because the pause may never end.
func (s *Set[T]) handsOutLater() bool {
	leaving := s.closing.leaving.Load()
	if leaving && s.gate.paused.Load() {
		return false
	}
	_, count := s.throttled.read()
	return count != 0 && !(leaving && uint32(s.pausedGroups.Load()) == count) || s.gate.used.Load() && s.anyReady()
}
