package harness

import (
	"context"
	"time"

	"github.com/shardq/shardq/stats"
)

// A groupTrial is a separate queue with the groups of the round, which one
// goroutine uses. The results of Gets are exactly known, also after a shutdown.
type groupTrial struct {
	dice
	plan     Plan
	queue    queue
	violated *violations
}

// tryGroups begins a round with groups.
func (r *round) tryGroups(target Target) {
	if !r.plan.Mix.Has(Groups) {
		return
	}
	p := r.plan
	p.Keys = 1 << 20 // so that no key has its own group
	wanted := request{shards: p.Shards, items: p.Items, lowInterval: p.lowPriorityInterval(), keep: func(any) {}}
	p.askForGroups(&wanted, nil)
	t := groupTrial{dice{p.Seed ^ 0xd1b54a32d192ed03}, p, target.open(wanted), r.violated}
	for _, try := range []func(){t.flood, t.limit} {
		if !r.violated.stopped.Load() {
			try()
		}
	}
	t.queue.ShutDown()
}

// keyOf returns a key of a group.
func (t groupTrial) keyOf(group, number int) int { return 4 * (number*mostGroups + group) }

// take gets a key. It reports false if there is none.
func (t groupTrial) take() (key int, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	key, ok, err := t.queue.getContext(ctx)
	switch {
	case err != nil:
		t.violated.report("C48", -1, "an item that may be handed out was not, after %v", grace)
	case !ok:
		t.violated.report("C48", -1, "Get reported a shutdown, and an item is ready")
	}
	return key, ok && err == nil
}

// flood adds very many items of one group, and checks that the items of another
// are handed out within the bound.
func (t groupTrial) flood() {
	flooding := t.roll(mostGroups)
	for n := range 100 + t.roll(300) {
		t.queue.Add(t.keyOf(flooding, n))
	}
	for range t.roll(20) { // so that the group is in the middle of a turn
		if key, ok := t.take(); ok {
			t.queue.Done(key)
		}
	}
	due := t.addOthers(flooding)
	for gets := 1; t.queue.Len() > 0; gets++ {
		key, ok := t.take()
		if !ok {
			return
		}
		if most, others := due[key]; others && gets > most {
			t.violated.report("C47", -1, "during a flood of group %s, an item of group %s was handed out by Get number %d; the bound is %d",
				groupNames[flooding], t.plan.nameOf(key), gets, most)
			return
		}
		t.queue.Done(key)
	}
	t.expectGroups("a flood")
}

// addOthers adds a few keys of some other groups. It returns the number of Gets
// within which each must be handed out.
func (t groupTrial) addOthers(flooding int) (due map[int]int) {
	var sizes [mostGroups]int
	all := t.plan.weightOf(flooding)
	for range 1 + t.roll(mostGroups-1) {
		group := (flooding + 1 + t.roll(mostGroups-1)) % mostGroups
		if sizes[group] == 0 {
			sizes[group] = 1 + t.roll(3)
			all += t.plan.weightOf(group)
		}
	}
	due = map[int]int{}
	for group, size := range sizes {
		for n := range size {
			t.queue.Add(t.keyOf(group, n))
			due[t.keyOf(group, n)] = mostGets(n, t.plan.turnOf(group), all)
			if t.plan.Shards > 1 {
				due[t.keyOf(group, n)] *= 8
			}
		}
	}
	return due
}

// limit checks that items beyond the limit are throttled until a Done, also
// after a shutdown.
func (t groupTrial) limit() {
	const group, other, beyond = 2, 3, 2
	limit := t.plan.GroupLimit
	if limit == 0 {
		limit = 3
	}
	for n := range limit + beyond {
		t.queue.Add(t.keyOf(group, n))
	}
	t.queue.Add(t.keyOf(other, 0))
	full := stats.Group{
		Group: groupNames[group], Held: limit + beyond, Ready: limit + beyond,
		Weight: t.plan.weightOf(group), Limit: t.plan.GroupLimit,
	}
	lone := stats.Group{
		Group: groupNames[other], Held: 1, Ready: 1,
		Weight: t.plan.weightOf(other), Limit: t.plan.GroupLimit,
	}
	t.expectGroups("adds", full, lone)
	if t.plan.GroupLimit == 0 {
		t.queue.ShutDown()
		t.empty(nil)
		return
	}
	held := t.takeAllBut(limit+1, t.keyOf(other, 0))
	full.Ready, full.Processing = beyond, limit
	full.Throttled, full.Reason = true, stats.ThrottledByLimit
	t.expectNothing("with a group at its limit")
	t.expectGroups("as many Gets as the limit allows", full)
	t.queue.ShutDown()
	t.expectNothing("after a shutdown, with a group at its limit")
	t.empty(held)
}

// takeAllBut takes n keys, ends one of them, and returns the others.
func (t groupTrial) takeAllBut(n, ended int) (held []int) {
	for range n {
		key, ok := t.take()
		switch {
		case !ok:
			return held
		case key == ended:
			t.queue.Done(key)
		default:
			held = append(held, key)
		}
	}
	return held
}

// empty ends the held keys, and takes and ends the throttled ones after them,
// until the queue reports the shutdown, which it must when nothing is ready.
func (t groupTrial) empty(held []int) {
	for !t.violated.stopped.Load() {
		if len(held) > 0 {
			t.queue.Done(held[0])
			held = held[1:]
		}
		if t.queue.Len() == 0 && len(held) == 0 {
			break
		}
		if t.queue.Len() > 0 {
			if key, ok := t.take(); ok {
				held = append(held, key)
			}
		}
	}
	if t.violated.stopped.Load() {
		return
	}
	if _, shutdown := t.queue.Get(); !shutdown {
		t.violated.report("C48", -1, "Get of an empty queue does not report the shutdown")
	}
	t.expectGroups("the last Done")
}

// expectNothing checks that a Get blocks.
func (t groupTrial) expectNothing(when string) {
	if t.violated.stopped.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Microsecond)
	defer cancel()
	switch key, ok, err := t.queue.getContext(ctx); {
	case err != nil:
	case ok:
		t.violated.report("C48", -1, "%s, and a throttled group, key %d of group %s was handed out", when, key, t.plan.nameOf(key))
	default:
		t.violated.report("C48", -1, "%s, and a throttled group, Get reported a shutdown", when)
	}
}

// expectGroups compares Groups and Stats with the expected values.
func (t groupTrial) expectGroups(after string, want ...stats.Group) {
	if t.violated.stopped.Load() {
		return
	}
	left := map[string]stats.Group{}
	ready, throttled := 0, 0
	for _, row := range want {
		left[row.Group] = row
		if ready += row.Ready; row.Throttled {
			throttled++
		}
	}
	for row := range t.queue.groups() {
		expected, is := left[row.Group]
		expected.Shard = row.Shard
		if !is || row != expected {
			t.violated.report("C47", -1, "after %s, Groups shows %+v, want %+v among others", after, row, expected)
		}
		delete(left, row.Group)
	}
	s, _ := t.queue.stats()
	if len(left) > 0 || s.Groups != len(want) || s.Throttled != throttled || s.Ready != ready || t.queue.Len() != ready {
		t.violated.report("C47", -1, "after %s, Groups does not show %+v, or Stats is wrong; want %+v: %+v", after, left, want, s)
	}
}
