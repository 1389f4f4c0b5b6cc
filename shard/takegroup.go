package shard

// The groups of a shard take turns, and in its turn each is handed out its
// weight. A consumer stays with a shard for a round, in which the shard hands
// out the weights of all its groups together. So a group in a shard with many
// others gets as much as one that is alone in its shard.

func (s *Core) takeRoundRobin(now uint64) (sh *shard, e *entry, priority int, h Handle) {
	lane := s.lane()
	for {
		if sh = s.lockInTurn(lane); sh == nil {
			return nil, nil, 0, Handle{}
		}
		if now == 0 && sh.groups != nil && sh.groups.rated {
			sh.mu.Unlock() // the group got its first rate since the take began
			now = s.readForRate()
			continue
		}
		over := false
		if e, priority, h, over = sh.takeInTurn(now); over {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		if e != nil {
			return sh, e, priority, h
		}
		if s.unlockGrouped(sh); len(s.shards) == 1 {
			return nil, nil, 0, Handle{}
		}
		// Another consumer emptied the shard before it was locked.
	}
}

func (s *Core) unlockGrouped(sh *shard) {
	fx := sh.regrouped()
	sh.mu.Unlock()
	if fx != 0 {
		s.driver.pokeKeeping()
	}
}

func (s *Core) lockInTurn(lane *lane) *shard {
	if len(s.shards) == 1 {
		s.shard(0).mu.Lock()
		return s.shard(0)
	}
	return s.lockReady(lane.turn.Load())
}

func (sh *shard) takeInTurn(now uint64) (e *entry, priority int, h Handle, over bool) {
	g := sh.groups
	if g == nil || g.best.turn == 0 {
		return nil, 0, h, false
	}
	g.left = min(g.left, g.weights) // groups of this round may be gone
	c := g.next(uint32(sh.set.config.LowPriorityInterval))
	of := c.turn
	state := g.at(of)
	e, priority, h = sh.take(&state.ready, false)
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
	return e, priority, h, over
}

func serve(c *circle, state *group) {
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
func (s *Core) mayLeave() bool { return s.closing.complete.Load() && !s.handsOutLater() }

// handsOutLater reports whether something is ready, behind a closed gate or in
// a throttled group, that consumers wait for. Drains and consumers wait for
// what is paused, until ShutDown is called, because the pause may never end.
func (s *Core) handsOutLater() bool {
	leaving := s.closing.leaving.Load()
	if leaving && s.gate.paused.Load() {
		return false
	}
	_, count := s.throttled.read()
	return count != 0 && !(leaving && uint32(s.pausedGroups.Load()) == count) || s.gate.used.Load() && s.anyReady()
}
