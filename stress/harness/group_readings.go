package harness

import "github.com/shardq/shardq/stats"

// Groups, read during other operations (C47, C48): a group is in one shard and
// listed once, and its numbers agree with each other and with the keys in
// flight.

// inspectGroups reads the groups until the round has ended.
func (a *actor) inspectGroups(until <-chan struct{}) {
	for !closed(until) {
		a.operations++
		var before reading
		if a.ledger != nil {
			before = a.ledger.read()
		}
		a.readGroups(before)
		a.groupReadings.Add(1)
		pause()
	}
}

// keepForAReading is called by a worker that holds a key. It waits until Groups
// was read from the beginning to the end, or for not much longer than that
// takes. With one processor, a worker would otherwise hardly ever hold a key
// throughout.
func (c *consumer) keepForAReading() {
	begun := c.groupReadings.Load()
	for range 20 {
		if c.groupReadings.Load() > begun+1 {
			return
		}
		c.progress.Add(1)
		pause()
	}
}

// readGroups ranges over Groups, and uses the queue meanwhile.
func (a *actor) readGroups(before reading) {
	var processing [mostGroups]int
	shown := map[string]bool{}
	for row := range a.queue.groups() {
		a.queue.Len()
		group, known := groupNumber(row.Group)
		switch {
		case !known:
			a.violated.report("C47", -1, "there is a group without keys: %+v", row)
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

// checkGroupInfo checks that the numbers of a group were true at one moment.
func (r *round) checkGroupInfo(group int, row stats.Group) {
	limit := r.plan.GroupLimit
	full := limit > 0 && row.Processing >= limit
	otherwise := row.Reason == stats.ThrottledByRate || row.Reason == stats.ThrottledByPause
	switch {
	case limit > 0 && row.Processing > limit:
		r.violated.report("C48", -1, "a group has more in processing than the limit of %d: %+v", limit, row)
	case otherwise && (r.gates == nil || !row.Throttled || row.Ready == 0),
		!otherwise && row.Throttled != (full && row.Ready > 0):
		r.violated.report("C48", -1, "with a limit of %d, a group is wrongly throttled or not: %+v", limit, row)
	case row.Ready < 0 || row.Processing < 0 || row.Held < 1 && !row.Paused ||
		row.Ready+row.Processing > row.Held || row.Held > r.groupSizes[group]:
		r.violated.report("C47", -1, "with %d keys in a group, this is impossible: %+v", r.groupSizes[group], row)
	case row.Held == 0 && row.Weight == 0: // it was paused before its first item
	case row.Weight != r.plan.weightOf(group):
		r.violated.report("C47", -1, "a group has weight %d, and another weight is shown: %+v", r.plan.weightOf(group), row)
	}
}

// checkGroupsComplete checks that all keys that workers had throughout were
// shown as in processing.
func (a *actor) checkGroupsComplete(processing [mostGroups]int, before reading) {
	var least [mostGroups]int
	for key := range before {
		if a.ledger.held(key, before) {
			least[a.plan.groupOf(key)]++
		}
	}
	for group, n := range least {
		if processing[group] < n {
			a.violated.report("C47", -1, "workers had %d keys of group %s throughout, and Groups shows %d in processing",
				n, groupNames[group], processing[group])
		}
	}
}
