package harness

import (
	"hash/maphash"
	"sync/atomic"
)

// FIFO within a shard, seen from outside (C5): if ordered key a was ready before the
// Add of ordered key b of the same shard began, then no Get of b has returned before
// the Get of a was called.
//
// Which keys share a shard is known where there is one shard, and where the plan
// routes keys by groups: keys of equal hashes share a shard. With fair groups the same
// is so of keys that share a group.

// order has, for each group, the frontier: the latest stamp at which the Add began of
// an ordered key whose Get has returned.
type order struct {
	frontier []atomic.Int64
}

// frontiers is a reading of all frontiers, from before a Get was called.
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

// groups is how many groups the plan's keys are in.
func (p Plan) groups() int {
	if p.Shards == 1 && !p.Mix.Has(Groups) {
		return 1
	}
	return mostGroups
}

var groupSeed = maphash.MakeSeed()

// lineOf returns the place of a key's frontier: that of its group and level.
func (p Plan) lineOf(key int) uint64 {
	return p.groupOf(key)*fewPriorities + uint64(p.priorityOf(key)-lowestPriority)
}

// lines is how many frontiers there are.
func (p Plan) lines() int { return p.groups() * fewPriorities }

// groupOf returns the group of a key, 0 to groups-1.
func (p Plan) groupOf(key int) uint64 { return uint64(key/4) % uint64(p.groups()) }

// hashOf returns what a grouped plan has for a hash function: one value per group.
func (p Plan) hashOf(key int) uint64 { return maphash.Comparable(groupSeed, p.groupOf(key)) }

// checkOrder is called after the Get of an ordered key, with a reading from before it.
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
