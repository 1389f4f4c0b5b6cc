package harness

import (
	"strconv"

	"github.com/shardq/shardq"
)

// Fair groups (C47, C48). In a round with them the queue is asked for groups in place of a
// hash function, so that ordered keys keep their order within group and priority also where
// there is one shard. What is checked is in group_limit.go, group_turns.go, group_looks.go,
// and, for a queue that one goroutine has for itself, group_trial.go.

// groupNames are the groups of a plan's keys, and groupWeights what GroupWeight says of
// them, in some rounds.
var (
	groupNames   = [mostGroups]string{"a", "b", "c", "d", "e", "f", "g", "h"}
	groupWeights = [mostGroups]int{1, 2, 5, 1, 0, 3, 1, -1}
)

// groupNumber returns the place of a name among groupNames.
func groupNumber(name string) (group int, known bool) {
	if len(name) != 1 || name < groupNames[0] || name > groupNames[mostGroups-1] {
		return 0, false
	}
	return int(name[0] - groupNames[0][0]), true
}

// nameOf returns the name of a key's group. A key that no actor adds has a group for itself:
// so no limit and no turn of a group has a say in what the opening does.
func (p Plan) nameOf(key int) string {
	if key < 0 || key >= p.Keys {
		return strconv.Itoa(key)
	}
	return groupNames[p.groupOf(key)]
}

// askedWeight is what GroupWeight says.
func askedWeight(name string) int {
	if group, known := groupNumber(name); known {
		return groupWeights[group]
	}
	return 1
}

// weightOf is what Groups says of it.
func (p Plan) weightOf(group int) int {
	if !p.Weighted {
		return 1
	}
	return max(1, groupWeights[group])
}

// turnOf is how many of a group are handed out in a turn, at least, while one worker has one
// key at a time: with a limit of 1 its group goes to the end of the line with each of them.
func (p Plan) turnOf(group int) int {
	if p.GroupLimit == 1 {
		return 1
	}
	return p.weightOf(group)
}

// groupSizes returns how many of the plan's keys are in each group.
func (p Plan) groupSizes() (sizes [mostGroups]int) {
	for key := range p.Keys {
		sizes[p.groupOf(key)]++
	}
	return sizes
}

// askForGroups puts the plan's groups into a request. The functions lose their temper as a
// hash function does.
func (p Plan) askForGroups(wanted *request, t *temper) {
	wanted.groupLimit = p.GroupLimit
	wanted.group = func(key int) string {
		t.strain()
		return p.nameOf(key)
	}
	if p.Weighted {
		wanted.groupWeight = func(name string) int {
			t.strain()
			return askedWeight(name)
		}
	}
}

// checkGroupsGone is called when the queue holds nothing: then it knows no groups either.
func (r *round) checkGroupsGone(when string) {
	if !r.plan.Mix.Has(Groups) || r.violated.stopped.Load() {
		return
	}
	if s, _ := r.queue.stats(); s.Groups != 0 || s.HeldBack != 0 {
		r.violated.report("C47", -1, "%s, with nothing held, Stats says %d groups, of which %d are held back", when, s.Groups, s.HeldBack)
	}
	for row := range r.queue.groups() {
		r.violated.report("C47", -1, "%s, with nothing held, there is a group: %+v", when, row)
	}
}

// homes notes in which shard each group is.
func (r *round) checkHome(group, shard int, row any) {
	home := int32(shard + 1)
	if !r.homes[group].CompareAndSwap(0, home) && r.homes[group].Load() != home {
		r.violated.report("C47", -1, "group %s was in shard %d, and this is in another: %+v",
			groupNames[group], r.homes[group].Load()-1, row)
	}
}

// checkGroupOf: an item is shown in its group, and in the shard of that.
func (r *round) checkGroupOf(row shardq.ItemInfo[int]) {
	if !r.plan.Mix.Has(Groups) {
		return
	}
	if row.Group != r.plan.nameOf(row.Item) {
		r.violated.report("C47", row.Item, "key %d of group %s was shown in another: %+v", row.Item, r.plan.nameOf(row.Item), row)
		return
	}
	r.checkHome(int(r.plan.groupOf(row.Item)), row.Shard, row)
}
