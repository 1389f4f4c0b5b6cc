package shard

import (
	"iter"
	"slices"
	"testing"

	"github.com/shardq/shardq/stats"
)

// checkGroups fails the test unless all redundant data of the groups of a shard
// agree.
func checkGroups[T comparable](t failer, s *Set[T], sh *shard) {
	t.Helper()
	if sh.ready != (runQueue{}) {
		t.Fatalf("shard %d has groups, and a run queue beside: %+v", sh.number, sh.ready)
	}
	g := sh.groups
	checkTable(t, g.names, sh.set.hashOfGroup)
	of, in := map[uint32][]uint32{}, map[uint32]int32{}
	for id := range idsOf(t, sh) {
		group := sh.groupOf(id)
		of[group] = append(of[group], id)
		if p := sh.table.at(id).phase(); p == processing || p == dirty {
			in[group]++
		}
	}
	ids := slices.Collect(g.names.ids())
	if len(of)+int(g.vacant) != len(ids) {
		t.Fatalf("shard %d: the items are of %d groups, %d have none, and %d are known", sh.number, len(of), g.vacant, len(ids))
	}
	checkWaiting(t, sh)
	throttledBy := [4]int32{}
	depth, running, weights := int32(0), int32(0), int64(0)
	circle := circleOf(t, sh, g.firstThrottled)
	round := roundOf(t, sh)
	for _, id := range ids {
		state, name := g.at(id), g.nameOf(id)
		checkLevels(t, sh, &state.ready)
		if int(state.items) != len(of[id]) || state.ready.processing != in[id] {
			t.Fatalf("group %q: %d items, %d in processing, but its counts are %+v", name, len(of[id]), in[id], state)
		}
		place := selectable
		switch {
		case state.ready.depth() == 0:
			place = notReady
		case state.blocked():
			place = throttled
		case state.phase == throttled && sh.set.config.GroupPolicy != nil:
			place = throttled // its limit has grown, and a Done will free it
		}
		if place == throttled {
			throttledBy[state.reason()]++
		}
		if len(of[id]) == 0 && !state.hasBucket {
			t.Fatalf("group %q has neither items nor a bucket, and is not forgotten", name)
		}
		if state.phase != place || slices.Contains(round, id) != (place == selectable) ||
			slices.Contains(circle, id) != (place == throttled) {
			t.Fatalf("group %q has %d ready items and is in place %d: %+v", name, state.ready.depth(), place, state)
		}
		if place == selectable {
			weights += int64(state.weight)
		}
		depth += state.ready.depth()
		running += state.ready.processing
	}
	if g.throttledBy != throttledBy {
		t.Fatalf("shard %d: %v groups are throttled by their reasons, but the counts are %v", sh.number, throttledBy, g.throttledBy)
	}
	if g.depth != depth || g.processing != running || g.weights != weights {
		t.Fatalf("shard %d: %d items are ready, %d in processing and the round robin weighs %d, but the counts are %d, %d and %d",
			sh.number, depth, running, weights, g.depth, g.processing, g.weights)
	}
}

// checkWaiting checks that the heap of waiting groups is one, that its first
// deadline is published, and that each group without a token waits.
func checkWaiting(t failer, sh *shard) {
	t.Helper()
	g, first := sh.groups, uint64(never)
	for i, id := range g.waiting {
		b := g.buckets.At(id)
		if int(b.place) != i+1 || i > 0 && g.waiter(b.place/2).deadline > b.deadline {
			t.Fatalf("shard %d: group %d waits at place %d, and is at %d", sh.number, id, b.place, i+1)
		}
		first = min(first, b.deadline)
	}
	if published := sh.set.waits[sh.number].Load(); published != first {
		t.Fatalf("shard %d: the first wait ends at %d, but %d is published", sh.number, first, published)
	}
	for id := range g.names.ids() {
		state := g.at(id)
		b := g.bucketOf(id, state)
		if b == nil && state.held != 0 || b != nil && b.place == 0 && state.held&noToken != 0 && state.held&paused == 0 {
			t.Fatalf("shard %d: group %d has no token, and waits for nothing: %+v", sh.number, id, state)
		}
	}
}

// roundOf returns the groups of all circles, and checks that each group is in
// the circle of its priority, and that the highest is served.
func roundOf(t failer, sh *shard) (ids []uint32) {
	t.Helper()
	g := sh.groups
	if g.circles == nil {
		return circleOf(t, sh, g.only.turn)
	}
	for i, c := range g.circles.open {
		if c.turn == 0 || i > 0 && g.circles.open[i-1].priority >= c.priority {
			t.Fatalf("shard %d: the circle %+v is empty, or out of order", sh.number, c)
		}
		of := circleOf(t, sh, c.turn)
		for _, id := range of {
			if state := g.at(id); state.in != c || sh.circleFor(state) != c {
				t.Fatalf("shard %d: group %d is in circle %+v, not %+v", sh.number, id, c, sh.circleFor(state))
			}
		}
		ids = append(ids, of...)
	}
	best := &g.only
	if n := len(g.circles.open); n > 0 {
		best = g.circles.open[n-1]
	}
	if g.best != best || g.only.turn != 0 {
		t.Fatalf("shard %d serves the circle %+v, not %+v", sh.number, g.best, best)
	}
	return ids
}

// ids returns the ids in the index, in no order.
func (x *index) ids() iter.Seq[uint32] {
	return func(yield func(id uint32) bool) {
		var before *segment
		for _, s := range x.directory { // a segment is there once or more, in a row
			if s == before {
				continue
			}
			before = s
			for _, slot := range s.slots {
				if slot != 0 && !yield(s.id(slot)) {
					return
				}
			}
		}
	}
}

// circleOf returns the groups of a circle, from its first.
func circleOf(t failer, sh *shard, first uint32) (ids []uint32) {
	t.Helper()
	g := sh.groups
	for id := first; id != 0; {
		ids = append(ids, id)
		next := g.at(id).next
		if g.at(next).previous != id || len(ids) > int(g.names.live) {
			t.Fatalf("shard %d: the circle is broken at %v", sh.number, ids)
		}
		if id = next; id == first {
			break
		}
	}
	return ids
}

func checkThrottled[T comparable](t failer, s *Set[T]) {
	t.Helper()
	held := uint32(0)
	for i := range s.Core.shards {
		if g := s.Core.shard(i).groups; g != nil {
			for id := range g.names.ids() {
				if g.at(id).phase == throttled {
					held++
				}
			}
		}
	}
	waiting := int32(0)
	for i := range s.Core.shards {
		if g := s.Core.shard(i).groups; g != nil {
			waiting += g.throttledBy[stats.ThrottledByPause]
		}
	}
	if count := s.Core.pausedGroups.Load(); waiting != count {
		t.Fatalf("%d throttled groups are paused, but the count is %d", waiting, count)
	}
	if _, count := s.Core.throttled.read(); held != count {
		t.Fatalf("%d groups are throttled, but the count is %d", held, count)
	}
}

// TestThrottleCountShowsChanges: a caller that reads the count twice learns
// whether any group was throttled or freed between. A Get that only compares
// the numbers might have run while a group was throttled, and would leave ready
// items behind.
func TestThrottleCountShowsChanges(t *testing.T) {
	var c throttleCount
	before, count := c.read()
	if count != 0 || !c.noneSince(before) {
		t.Fatal("nothing has happened, and a change is reported")
	}
	c.more()
	if _, count := c.read(); count != 1 || c.noneSince(before) {
		t.Fatalf("one group is throttled, but the count is %d", count)
	}
	c.less()
	if now, count := c.read(); count != 0 || c.noneSince(before) || !c.noneSince(now) {
		t.Fatal("a group was throttled and freed, and no change is reported")
	}
	for range 1000 {
		c.more()
		c.more()
		c.less()
	}
	if _, count := c.read(); count != 1000 {
		t.Fatalf("1000 groups are throttled, but the count is %d", count)
	}
}
