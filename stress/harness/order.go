package harness

import (
	"hash/maphash"
	"sync/atomic"
)

// FIFO within a shard (C5): if ordered key a was ready before the Add of
// ordered key b of the same shard began, then no Get of b has returned before
// the Get of a was called.
//
// The keys of a shard are known if there is one shard, and if the plan routes
// keys by groups: keys of equal hashes share a shard. In a round with groups,
// the same holds for the keys of a group.

// order has, for each group, the frontier: the latest stamp at which the Add of
// an ordered key began whose Get has returned.
type order struct {
	frontier []atomic.Int64
}

// frontiers is a reading of all frontiers before the call of a Get.
type frontiers []int64

const mostGroups = 8

func newOrder(groups int) *order { return &order{frontier: make([]atomic.Int64, groups)} }

func (o *order) read(into frontiers) frontiers {
	into = into[:0]
	for i := range o.frontier {
		into = append(into, o.frontier[i].Load())
	}
	return into
}

// groups returns the number of groups of the plan's keys.
func (p Plan) groups() int {
	if p.Shards == 1 && !p.Mix.Has(Groups) {
		return 1
	}
	return mostGroups
}

var groupSeed = maphash.MakeSeed()

// lineOf returns the index of a key's frontier, which follows from its group
// and level.
func (p Plan) lineOf(key int) uint64 {
	return p.groupOf(key)*fewPriorities + uint64(p.priorityOf(key)-lowestPriority)
}

// lines returns the number of frontiers.
func (p Plan) lines() int { return p.groups() * fewPriorities }

// groupOf returns the group of a key, 0 to groups-1.
func (p Plan) groupOf(key int) uint64 { return uint64(key/4) % uint64(p.groups()) }

// hashOf is the hash function of a plan with groups: one value for each group.
func (p Plan) hashOf(key int) uint64 { return maphash.Comparable(groupSeed, p.groupOf(key)) }

// checkOrder is called after the Get of an ordered key, with a reading from
// before it.
func (l *ledger) checkOrder(key int, r *record, group uint64, before frontiers) {
	if l.order == nil {
		return
	}
	began, ended := r.began.Load(), r.landing.Load()
	if ended != 0 && before[group] > ended {
		l.violated.report("C5", key,
			"key %d was ready before the Add of another key of its shard began, and that key was handed out before", key)
	}
	frontier := &l.order.frontier[group]
	for {
		old := frontier.Load()
		if old >= began || frontier.CompareAndSwap(old, began) {
			return
		}
	}
}
