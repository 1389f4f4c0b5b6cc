package harness

import (
	"math"

	"github.com/shardq/shardq"
)

// Priorities (C45). Each ordered key has one of a few priorities, so that the
// order of the keys of a shard and level is visible, and GetWithPriority can be
// checked. Free keys have any priority.

const (
	lowestPriority = -1
	fewPriorities  = 3
)

// priorityOf returns the priority of an ordered key. It is 0 if adds may honor
// the capacity, because such adds have no priority.
func (p Plan) priorityOf(key int) int {
	if !p.Mix.Has(Priorities) || p.Mix.Has(Capacity) || classOf(key) != ordered {
		return 0
	}
	return lowestPriority + key/4/mostGroups%fewPriorities
}

// lowPriorityInterval returns the option, which half of the plans with
// priorities set.
func (p Plan) lowPriorityInterval() int {
	if !p.Mix.Has(Priorities) || p.Seed%2 == 0 {
		return 0
	}
	return 3
}

func (a *actor) anyPriority() int {
	return [...]int{0, 0, 1, 2, -1, 100, -100, 17, math.MaxInt, math.MinInt, 3000, a.roll(1000)}[a.roll(12)]
}

// addAtPriority adds a key at once. It reports false if that had no effect.
func (a *actor) addAtPriority(key int) bool {
	o := shardq.AddOptions{Priority: a.plan.priorityOf(key)}
	if classOf(key) == free {
		o.Priority = a.anyPriority()
	}
	return a.addWith(key, o)
}

// getInTurn calls Get or GetWithPriority.
func (a *actor) getInTurn() (key int, shutdown bool) {
	if !a.has(Priorities) || a.chance(2) {
		return a.queue.Get()
	}
	key, priority, shutdown := a.queue.getWithPriority()
	switch {
	case shutdown && priority != 0:
		a.violated.report("C45", -1, "at the shutdown, GetWithPriority returned priority %d", priority)
	case !shutdown && key >= 0 && key < a.plan.Keys && a.ledger != nil && classOf(key) == ordered && priority != a.plan.priorityOf(key):
		a.violated.report("C45", key, "key %d was handed out with priority %d, and added with %d", key, priority, a.plan.priorityOf(key))
	}
	return key, shutdown
}
