package harness

import "github.com/shardq/shardq"

// Groups, looked at beside everything else (C47, C48): a group is in one shard, listed once,
// and what is said of it fits together and what workers have in hand.

// inspectGroups looks at the groups until the round has ended.
func (a *actor) inspectGroups(until <-chan struct{}) {
	for !closed(until) {
		a.operations++
		var before reading
		if a.ledger != nil {
			before = a.ledger.read()
		}
		a.lookAtGroups(before)
		a.groupLooks.Add(1)
		breathe()
	}
}

// keepForALook is called by a worker with a key in hand, and waits until somebody has looked at the
// groups from the beginning to the end, or for not much longer than that takes: with one processor, it would hardly
// ever happen that a worker has a key all the time.
func (c *consumer) keepForALook() {
	begun := c.groupLooks.Load()
	for range 20 {
		if c.groupLooks.Load() > begun+1 {
			return
		}
		c.progress.Add(1)
		breathe()
	}
}

// lookAtGroups ranges over Groups, and uses the queue meanwhile.
func (a *actor) lookAtGroups(before reading) {
	var processing [mostGroups]int
	shown := map[string]bool{}
	for row := range a.queue.groups() {
		a.queue.Len()
		group, known := groupNumber(row.Group)
		switch {
		case !known:
			a.violated.report("C47", -1, "there is a group that no key is of: %+v", row)
			return
		case shown[row.Group]:
			a.violated.report("C47", -1, "a group was shown twice: %+v", row)
		}
		shown[row.Group] = true
		processing[group] = row.Processing
		a.checkHome(group, row.Shard, row)
		a.checkGroupInfo(group, row)
	}
	a.checkGroupsComplete(processing, before)
}

// checkGroupInfo: what is said of a group was so at one moment.
func (r *round) checkGroupInfo(group int, row shardq.GroupInfo) {
	limit := r.plan.GroupLimit
	full := limit > 0 && row.Processing >= limit
	switch {
	case limit > 0 && row.Processing > limit:
		r.violated.report("C48", -1, "a group has more in processing than the limit of %d: %+v", limit, row)
	case row.HeldBack != (full && row.Ready > 0):
		r.violated.report("C48", -1, "with a limit of %d, a group is held back or not, but not so: %+v", limit, row)
	case row.Ready < 0 || row.Processing < 0 || row.Held < 1 ||
		row.Ready+row.Processing > row.Held || row.Held > r.groupSizes[group]:
		r.violated.report("C47", -1, "of %d keys of a group, this cannot be: %+v", r.groupSizes[group], row)
	case row.Weight != r.plan.weightOf(group):
		r.violated.report("C47", -1, "a group weighs %d, and is said to weigh something else: %+v", r.plan.weightOf(group), row)
	}
}

// checkGroupsComplete: what workers had all the time was shown as in processing.
func (a *actor) checkGroupsComplete(processing [mostGroups]int, before reading) {
	var least [mostGroups]int
	for key := range before {
		if a.ledger.held(key, before) {
			least[a.plan.groupOf(key)]++
		}
	}
	for group, n := range least {
		if processing[group] < n {
			a.violated.report("C47", -1, "workers had %d keys of group %s all the time, and Groups shows %d in processing",
				n, groupNames[group], processing[group])
		}
	}
}
