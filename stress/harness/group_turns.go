package harness

import "sync/atomic"

// Turns under load (C47). Where one consumer alone takes keys, one at a time, from one shard,
// Gets come one after the other, and nothing is held back when one comes: so an ordered key
// comes within a number of Gets that follows from how many keys its group has. With more
// shards that is not so beside producers, for a Get passes by a shard whose lock it meets.

// groupTurns counts the Gets.
type groupTurns struct {
	gets atomic.Int64
	most [mostGroups]int64 // until a key of the group comes
}

// countsTurns reports whether the bound holds. With priorities a key may be put off for ever;
// and of a batch nobody sees when the Gets were that it is made of.
func (p Plan) countsTurns() bool {
	return p.Mix.Has(Groups) && p.Shards == 1 && p.Consumers == 1 && p.Mix&(Priorities|Batches|Workers) == 0
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
		const underWay = 1 // a Get that has returned, and is not counted when the Add returns
		t.most[group] = int64(mostGets(max(0, size-1), p.turnOf(group), all) + underWay)
	}
	return t
}

// mostGets is how many Gets an item may take with so many others of its group before it, of
// which so many are handed out in a turn, in one shard, when all groups weigh so much together.
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
		l.violated.report("C47", key, "key %d of group %s came with the %d. Get after its Add; the bound is %d",
			key, groupNames[group], n, l.turns.most[group])
	}
}
