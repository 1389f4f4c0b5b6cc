package harness

import (
	"strconv"

	"github.com/shardq/shardq/stats"
)

// Groups (C47, C48). In a round with groups, the queue has groups in place of a
// hash function. Ordered keys then keep their order within group and priority,
// also with one shard. The checks are in group_limit.go, group_turns.go,
// group_readings.go and, for a separate queue that one goroutine uses,
// group_trial.go.

// groupNames are the groups of a plan's keys. groupWeights are the results of
// GroupWeight, in some rounds.
var (
	groupNames   = [mostGroups]string{"a", "b", "c", "d", "e", "f", "g", "h"}
	groupWeights = [mostGroups]int{1, 2, 5, 1, 0, 3, 1, -1}
)

// groupNumber returns the index of a name in groupNames.
func groupNumber(name string) (group int, known bool) {
	if len(name) != 1 || name < groupNames[0] || name > groupNames[mostGroups-1] {
		return 0, false
	}
	return int(name[0] - groupNames[0][0]), true
}

// nameOf returns the name of a key's group. A key that no actor adds has its
// own group, so that limits and turns do not affect the opening.
func (p Plan) nameOf(key int) string {
	if key < 0 || key >= p.Keys {
		return strconv.Itoa(key)
	}
	return groupNames[p.groupOf(key)]
}

// askedWeight is the GroupWeight option.
func askedWeight(name string) int {
	if group, known := groupNumber(name); known {
		return groupWeights[group]
	}
	return 1
}

// weightOf returns the weight that Groups must show.
func (p Plan) weightOf(group int) int {
	if !p.Weighted {
		return 1
	}
	return max(1, groupWeights[group])
}

// turnOf returns the least number of items of a group in a turn, while one
// worker has one key at a time. With a limit of 1, the group goes to the end
// after each item.
func (p Plan) turnOf(group int) int {
	if p.GroupLimit == 1 {
		return 1
	}
	return p.weightOf(group)
}

// groupSizes returns the number of the plan's keys in each group.
func (p Plan) groupSizes() (sizes [mostGroups]int) {
	for key := range p.Keys {
		sizes[p.groupOf(key)]++
	}
	return sizes
}

// askForGroups adds the plan's groups to a request. The functions panic in the
// same way as a hash function.
func (p Plan) askForGroups(wanted *request, t *panicker) {
	wanted.groupLimit, wanted.prioritiesFirst = p.GroupLimit, p.PrioritiesFirst
	wanted.group = func(key int) string {
		t.call()
		return p.nameOf(key)
	}
	if p.Weighted {
		wanted.groupWeight = func(name string) int {
			t.call()
			return askedWeight(name)
		}
	}
}

// checkGroupsGone is called when the queue is empty: then it has no groups.
func (r *round) checkGroupsGone(when string) {
	if !r.plan.Mix.Has(Groups) || r.violated.stopped.Load() {
		return
	}
	if s, _ := r.queue.stats(); s.Groups != 0 || s.Throttled != 0 {
		r.violated.report("C47", -1, "%s, with no items, Stats has %d groups, of which %d are throttled", when, s.Groups, s.Throttled)
	}
	for row := range r.queue.groups() {
		r.violated.report("C47", -1, "%s, with no items, there is a group: %+v", when, row)
	}
}

// checkHome records the shard of each group, and checks that it stays the same.
func (r *round) checkHome(group, shard int, row any) {
	home := int32(shard + 1)
	if !r.homes[group].CompareAndSwap(0, home) && r.homes[group].Load() != home {
		r.violated.report("C47", -1, "group %s was in shard %d, and is now in another: %+v",
			groupNames[group], r.homes[group].Load()-1, row)
	}
}

// checkGroupOf checks that an item is shown in its group, and in the shard of
// the group.
func (r *round) checkGroupOf(row stats.Item[int]) {
	if !r.plan.Mix.Has(Groups) {
		return
	}
	if row.Group != r.plan.nameOf(row.Item) {
		r.violated.report("C47", row.Item, "key %d of group %s was shown in another group: %+v", row.Item, r.plan.nameOf(row.Item), row)
		return
	}
	r.checkHome(int(r.plan.groupOf(row.Item)), row.Shard, row)
}
