package shard

// The groups of a shard take turns, and in its turn each is handed out its
// weight. A consumer stays with a shard for a round, in which the shard hands
// out the weights of all its groups together. So a group in a shard with many
// others gets as much as one that is alone in its shard.

func (s *Core) takeRoundRobin(now uint64) (sh *shard, e *entry, priority int, h Handle) {
	lane := s.lane()
	fresh := false // whether the clock was read since a group had no token
	for {
		if sh = s.lockInTurn(lane); sh == nil {
			return nil, nil, 0, Handle{}
		}
		if now == 0 && sh.groups != nil && sh.groups.rated {
			sh.unlock() // the group got its first rate since the take began
			now = s.readForRate()
			continue
		}
		var end turnEnd
		e, priority, h, end = sh.takeInTurn(now, fresh)
		if end == roundOver {
			lane.turn.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
		}
		if e != nil {
			return sh, e, priority, h
		}
		s.unlockGrouped(sh)
		switch {
		case end == noTokenYet && !fresh:
			now, fresh = s.readForRate(), true
		case end == noTokenYet:
			fresh = false
		case len(s.shards) == 1:
			return nil, nil, 0, Handle{}
		}
		// Or another consumer emptied the shard before it was locked.
	}
}

func (s *Core) unlockGrouped(sh *shard) {
	fx := sh.regrouped()
	sh.unlock()
	if fx != 0 {
		s.driver.pokeKeeping()
	}
}

func (s *Core) lockInTurn(lane *lane) *shard {
	if len(s.shards) == 1 {
		s.shard(0).lock()
		return s.shard(0)
	}
	return s.lockReady(lane.turn.Load())
}

// A turnEnd says how a visit to a shard ended.
type turnEnd uint8

const (
	nothingReady turnEnd = iota
	// noTokenYet: the group in turn had no token at the reading of the clock.
	// It is throttled, if the reading was fresh: another consumer or the driver
	// may have read the clock later.
	noTokenYet
	roundGoesOn
	roundOver
)

func (sh *shard) takeInTurn(now uint64, fresh bool) (e *entry, priority int, h Handle, end turnEnd) {
	g := sh.groups
	if g == nil || g.best.turn == 0 {
		return nil, 0, h, nothingReady
	}
	g.left = min(g.left, g.weights) // groups of this round may be gone
	c := g.next(uint32(sh.set.config.LowPriorityInterval))
	of := c.turn
	state := g.at(of)
	if state.hasBucket && !sh.spend(of, state, now, fresh) {
		sh.throttleIfBlocked(of, state)
		return nil, 0, h, noTokenYet
	}
	e, priority, h = sh.take(&state.ready, false)
	g.processing++
	sh.throttleIfBlocked(of, state)
	if state.in == c {
		serve(c, state)
	}
	if g.left--; g.left > 0 {
		return e, priority, h, roundGoesOn
	}
	g.left = g.weights
	return e, priority, h, roundOver
}

func serve(c *circle, state *group) {
	if state.served++; state.served >= state.weight {
		state.served, c.turn = 0, state.next
	}
}
