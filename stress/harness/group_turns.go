package harness

import "sync/atomic"

// Turns under load (C47). If one consumer alone takes keys, one at a time, from
// one shard, Gets do not overlap, and no group is throttled at a Get. An
// ordered key is then handed out within a number of Gets that follows from the
// number
// of keys in its group. With more shards that does not hold beside producers,
// because a Get skips a shard that is locked.

// groupTurns counts the Gets.
type groupTurns struct {
	gets atomic.Int64
	most [mostGroups]int64 // until a key of the group is handed out
}

// countsTurns reports whether the bound holds. It does not with priorities,
// which may delay a key forever, with batches, whose single Gets are invisible,
// or while a group is throttled.
func (p Plan) countsTurns() bool {
	return p.Mix.Has(Groups) && p.Shards == 1 && p.Consumers == 1 && p.Mix&(Priorities|Batches|Workers|Pauses) == 0
}

func newGroupTurns(p Plan) *groupTurns {
	if !p.countsTurns() {
		return nil
	}
	t, sizes, all := &groupTurns{}, p.groupSizes(), 0
	for group, size := range sizes {
		if size > 0 {
			all += p.weightOf(group)
		}
	}
	for group, size := range sizes {
		const running = 1 // a Get that has returned, but is not counted when the Add returns
		t.most[group] = int64(mostGets(max(0, size-1), p.turnOf(group), all) + running)
	}
	return t
}

// mostGets returns the number of Gets within which an item is handed out, with
// one shard. others items of its group are before it, turn items are handed out
// in a turn, and all is the sum of the weights.
func mostGets(others, turn, all int) int { return (others + turn) * all / turn }

// awaitTurn is called when the Add of an ordered key has returned.
func (l *ledger) awaitTurn(r *record) {
	if l.turns != nil {
		r.awaited.Store(l.turns.gets.Load())
	}
}

// countTurn is called after each Get.
func (l *ledger) countTurn(key int, r *record) {
	if l.turns == nil {
		return
	}
	gets, group := l.turns.gets.Add(1), l.groupOf(key)
	if classOf(key) != ordered || r.landing.Load() == 0 {
		return
	}
	if n := gets - r.awaited.Load(); n > l.turns.most[group] {
		l.violated.report("C47", key, "key %d of group %s was handed out by Get number %d after its Add; the bound is %d",
			key, groupNames[group], n, l.turns.most[group])
	}
}
