package shard

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// checkGroups fails the test unless all redundant data of the groups of a shard
// agree.
func checkGroups[T comparable](t failer, sh *shard[T]) {
	t.Helper()
	if sh.ready != (runQueue[T]{}) {
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
		state, name := g.at(id), g.names.at(id).item
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
func checkWaiting[T comparable](t failer, sh *shard[T]) {
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
func roundOf[T comparable](t failer, sh *shard[T]) (ids []uint32) {
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
func circleOf[T comparable](t failer, sh *shard[T], first uint32) (ids []uint32) {
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
	for i := range s.shards {
		if g := s.shard(i).groups; g != nil {
			for id := range g.names.ids() {
				if g.at(id).phase == throttled {
					held++
				}
			}
		}
	}
	waiting := int32(0)
	for i := range s.shards {
		if g := s.shard(i).groups; g != nil {
			waiting += g.throttledBy[stats.ThrottledByPause]
		}
	}
	if count := s.pausedGroups.Load(); waiting != count {
		t.Fatalf("%d throttled groups are paused, but the count is %d", waiting, count)
	}
	if _, count := s.throttled.read(); held != count {
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

// A roundRobinModel is a model of one shard with groups, made of slices and
// maps.
type roundRobinModel struct {
	// now is the time since the start.
	now time.Duration
	// prioritiesFirst is Config.PrioritiesBeforeTurns.
	prioritiesFirst bool

	groups map[string]*modelGroup
	// turns has the groups that may be served. The first is that whose turn it
	// is. With prioritiesFirst it is the first of the highest priority.
	turns []string
	// phase and requested are by item.
	phase     map[int]phase
	requested map[int]int
}

type modelGroup struct {
	weight, served, processing, limit int
	rate                              rate
	// missing is the time in which its bucket fills, at the time at. It is
	// negative once the bucket is full.
	missing, at time.Duration
	// until is when its pause ends, or 0.
	until  time.Duration
	levels map[int][]int
	// top is the highest priority of its items, when it joined the others.
	top int
}

// blocked reports whether no item of the group may be handed out.
func (g *modelGroup) blocked(now time.Duration) bool {
	g.pass(now)
	room := time.Duration(g.rate.interval) * time.Duration(max(g.rate.burst, 1)-1)
	return g.limit > 0 && g.processing >= g.limit || g.missing > room || g.until > now
}

func (g *modelGroup) pass(now time.Duration) { g.missing, g.at = g.missing-(now-g.at), now }

// spend takes a token.
func (g *modelGroup) spend() {
	if g.missing < -rest*time.Millisecond {
		g.missing = 0
	}
	g.missing = max(g.missing, -madeUpFor*time.Millisecond) + time.Duration(g.rate.interval)
}

// highest returns the highest priority of the items.
func (g *modelGroup) highest() int {
	highest := math.MinInt
	for p, items := range g.levels {
		if len(items) > 0 {
			highest = max(highest, p)
		}
	}
	return highest
}

func (g *modelGroup) ready() (n int) {
	for _, items := range g.levels {
		n += len(items)
	}
	return n
}

func groupOfItem(item int) string { return fmt.Sprint("group ", item%5) }

func (m *roundRobinModel) of(item int) *modelGroup {
	name := groupOfItem(item)
	if m.groups[name] == nil {
		m.groups[name] = &modelGroup{weight: 1, levels: map[int][]int{}}
	}
	return m.groups[name]
}

func (m *roundRobinModel) full(g *modelGroup) bool { return g.blocked(m.now) }

// review lets the groups join the others that have ready items and are not
// blocked any more. If there are several, it takes the order of the set.
func (m *roundRobinModel) review(s *Set[int]) {
	for _, name := range namesInOrder(s) {
		if g := m.groups[name]; g.ready() > 0 && !m.full(g) && !slices.Contains(m.turns, name) {
			m.join(name)
		}
	}
}

// pause pauses a group, until now or earlier if the pause is to end.
func (m *roundRobinModel) pause(name string, until time.Duration) {
	m.groups[name].until = until
	if m.full(m.groups[name]) && slices.Contains(m.turns, name) {
		m.leave(name)
	}
}

// namesInOrder returns the names of the groups with ready items, in order.
func namesInOrder(s *Set[int]) (names []string) {
	if g := s.shard(0).groups; g != nil {
		for id := range g.inOrder() {
			names = append(names, g.names.at(id).item)
		}
	}
	return names
}

func (m *roundRobinModel) push(item, priority int) {
	g := m.of(item)
	first := g.ready() == 0
	g.levels[priority] = append(g.levels[priority], item)
	m.phase[item], m.requested[item] = ready, priority
	if first && !m.full(g) {
		m.join(groupOfItem(item))
	} else {
		m.follow(groupOfItem(item))
	}
}

func (m *roundRobinModel) join(name string) {
	m.turns = append(m.turns, name)
	m.groups[name].top = m.groups[name].highest()
}

// follow puts a group behind all others if its highest priority has changed. It
// reports whether it did.
func (m *roundRobinModel) follow(name string) bool {
	if g := m.groups[name]; !m.prioritiesFirst || !slices.Contains(m.turns, name) || g.top == g.highest() {
		return false
	}
	m.leave(name)
	m.join(name)
	return true
}

// next returns the group whose turn it is.
func (m *roundRobinModel) next() string {
	next := m.turns[0]
	for _, name := range m.turns {
		if m.prioritiesFirst && m.groups[name].top > m.groups[next].top {
			next = name
		}
	}
	return next
}

func (m *roundRobinModel) pull(item int) {
	g, name := m.of(item), groupOfItem(item)
	level := g.levels[m.requested[item]]
	g.levels[m.requested[item]] = slices.DeleteFunc(level, func(i int) bool { return i == item })
	if g.ready() == 0 {
		m.leave(name)
	} else {
		m.follow(name)
	}
}

func (m *roundRobinModel) leave(name string) {
	m.groups[name].served = 0
	m.turns = slices.DeleteFunc(m.turns, func(other string) bool { return other == name })
}

func (m *roundRobinModel) add(item, priority int) {
	switch m.phase[item] {
	case idle:
		m.push(item, priority)
	case processing:
		m.phase[item], m.requested[item] = dirty, priority
	case dirty:
		m.requested[item] = max(m.requested[item], priority)
	case ready:
		if priority > m.requested[item] {
			g, before := m.of(item), m.requested[item]
			g.levels[before] = slices.DeleteFunc(g.levels[before], func(i int) bool { return i == item })
			g.levels[priority] = append(g.levels[priority], item)
			m.requested[item] = priority
			m.follow(groupOfItem(item))
		}
	}
}

func (m *roundRobinModel) get() (item, priority int) {
	name := m.next()
	g := m.groups[name]
	priority = g.highest()
	item = g.levels[priority][0]
	g.levels[priority] = g.levels[priority][1:]
	m.phase[item] = processing
	g.processing++
	g.served++
	g.pass(m.now)
	g.spend()
	switch {
	case g.ready() == 0 || m.full(g):
		m.leave(name)
	case m.follow(name):
	case g.served >= g.weight:
		m.leave(name)
		m.join(name)
	}
	return item, priority
}

func (m *roundRobinModel) done(item int) {
	g := m.of(item)
	was := m.full(g)
	g.processing--
	if was && !m.full(g) && g.ready() > 0 {
		m.join(groupOfItem(item))
	}
	again := m.phase[item] == dirty
	m.phase[item] = idle
	if again {
		m.push(item, m.requested[item])
	}
}

// forget lets the groups that the set does not know have rested. Their buckets
// are full.
func (m *roundRobinModel) forget(s *Set[int]) {
	known := map[string]bool{}
	if g := s.shard(0).groups; g != nil {
		for id := range g.names.ids() {
			known[g.names.at(id).item] = true
		}
	}
	for name, g := range m.groups {
		if g.pass(m.now); !known[name] && g.missing <= 0 {
			g.missing = -time.Hour
		}
	}
}

// weighIfKnown weighs a group as a refresh does, which forgets nothing of a
// group that the set does not know.
func weighIfKnown(s *Set[int], m *roundRobinModel, item int, weights map[string]int) {
	if g := s.shard(0).groups; g != nil {
		if of, _ := g.names.find(s.hashOfGroup(groupOfItem(item)), groupOfItem(item)); of != 0 {
			m.of(item).weight = max(1, weights[groupOfItem(item)])
		}
	}
}

// drawRate draws no rate, or one of some items in a tick to one in some ticks.
func drawRate(rt *rapid.T) (r stats.Rate) {
	if perSecond := rapid.SampledFrom([]float64{0, 200, 300, 500, 999, 1000, 3000}).Draw(rt, "rate"); perSecond > 0 {
		r = stats.Rate{PerSecond: perSecond, Burst: rapid.IntRange(0, 4).Draw(rt, "burst")}
	}
	return r
}

// TestGroupsAgainstModel: one shard with groups hands out exactly what the
// model does.
func TestGroupsAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &roundRobinModel{
			prioritiesFirst: rapid.Bool().Draw(rt, "priorities before turns"),

			groups: map[string]*modelGroup{}, phase: map[int]phase{}, requested: map[int]int{},
		}
		fake := clock.NewFake(start)
		weights := map[string]int{}
		limit := rapid.IntRange(0, 3).Draw(rt, "limit")
		rates, rated := map[string]stats.Rate{}, rapid.Bool().Draw(rt, "rates")
		for item := range 5 {
			g := m.of(item)
			g.limit = limit
			if rated {
				g.limit = cmp.Or(rapid.IntRange(0, 3).Draw(rt, "limit of the group"), limit)
				rates[groupOfItem(item)] = drawRate(rt)
				g.rate = rateOf(rates[groupOfItem(item)])
			}
		}
		config := Config[int]{
			Clock: fake, Group: groupOfItem, Rules: Rules{PrioritiesBeforeTurns: m.prioritiesFirst},
			GroupPolicy: func(group string) stats.GroupPolicy {
				return stats.GroupPolicy{Weight: weights[group], Limit: m.groups[group].limit, Rate: rates[group]}
			},
		}
		s := newTestSet(rt, config)
		pass := func() {
			fake.Step(time.Millisecond)
			m.now += time.Millisecond
			m.review(s)
		}
		items, priorities := rapid.IntRange(0, 29), rapid.IntRange(-1, 2)
		if rapid.Bool().Draw(rt, "all alike") {
			priorities = rapid.Just(0)
		}
		delayed := map[time.Time][2]int{} // at most one for each tick, because their order is not defined
		inProcessing := func() []int {
			return slices.Sorted(func(yield func(int) bool) {
				for item, p := range m.phase {
					if (p == processing || p == dirty) && !yield(item) {
						return
					}
				}
			})
		}
		weigh := func(item int) { // as each add does
			m.of(item).weight = max(1, weights[groupOfItem(item)])
		}
		for range 4 {
			rt.Repeat(map[string]func(*rapid.T){
				"": func(rt *rapid.T) {
					checkSet(rt, s)
					m.forget(s)
					ready := 0
					for _, g := range m.groups {
						ready += g.ready()
					}
					if s.Len() != ready {
						rt.Fatalf("Len is %d, and %d items are ready", s.Len(), ready)
					}
				},
				"add": func(rt *rapid.T) {
					item, priority := items.Draw(rt, "item"), priorities.Draw(rt, "priority")
					weights[groupOfItem(item)] = rapid.IntRange(0, 4).Draw(rt, "weight")
					s.AddWith(item, Delay{Priority: priority})
					weigh(item)
					m.add(item, priority)
				},
				"delay": func(rt *rapid.T) {
					item, priority := items.Draw(rt, "item"), priorities.Draw(rt, "priority")
					d := time.Duration(rapid.IntRange(1, 5).Draw(rt, "ticks")) * time.Millisecond
					at := fake.Now().Add(d)
					for _, other := range delayed {
						if other[0] == item {
							return
						}
					}
					if _, taken := delayed[at]; taken {
						return
					}
					s.AddWith(item, Delay{Duration: d, Priority: priority})
					weigh(item)
					delayed[at] = [2]int{item, priority}
				},
				"pause": func(rt *rapid.T) {
					name := groupOfItem(items.Draw(rt, "item"))
					d := time.Duration(rapid.IntRange(-1, 5).Draw(rt, "ticks")) * time.Millisecond
					s.PauseGroup(name, fake.Now().Add(d))
					m.pause(name, m.now+d)
					m.review(s)
				},
				"pause without an end": func(rt *rapid.T) {
					name := groupOfItem(items.Draw(rt, "item"))
					s.PauseGroup(name, time.Time{})
					m.pause(name, math.MaxInt64)
				},
				"resume": func(rt *rapid.T) {
					name := groupOfItem(items.Draw(rt, "item"))
					s.ResumeGroup(name)
					m.pause(name, 0)
					m.review(s)
				},
				"refresh": func(rt *rapid.T) {
					item := items.Draw(rt, "item")
					s.RefreshGroup(groupOfItem(item))
					weighIfKnown(s, m, item, weights)
				},
				"pass": func(rt *rapid.T) {
					pass()
					if one, ok := delayed[fake.Now()]; ok {
						delete(delayed, fake.Now())
						m.add(one[0], one[1])
					}
				},
				"get": func(rt *rapid.T) {
					if len(m.turns) == 0 {
						if item, _, _, ok := s.TryTake(); ok {
							rt.Fatalf("item %d was handed out, and nothing may be", item)
						}
						return
					}
					want, wantPriority := m.get()
					item, priority, _, ok := s.TryTake()
					if !ok || item != want || priority != wantPriority {
						rt.Fatalf("item %d of priority %d was handed out (%v), not %d of %d", item, priority, ok, want, wantPriority)
					}
				},
				"done": func(rt *rapid.T) {
					if in := inProcessing(); len(in) > 0 {
						item := rapid.SampledFrom(in).Draw(rt, "done")
						s.Done(item)
						m.done(item)
					}
				},
				"cancel": func(rt *rapid.T) {
					item := items.Draw(rt, "item")
					s.Cancel(item)
					maps.DeleteFunc(delayed, func(_ time.Time, one [2]int) bool { return one[0] == item })
					switch m.phase[item] {
					case ready:
						m.pull(item)
						m.phase[item] = idle
					case dirty:
						m.phase[item] = processing
					}
				},
			})
		}
		for name := range m.groups {
			s.ResumeGroup(name)
			m.pause(name, 0)
			m.review(s)
		}
		s.ShutDown()
		for s.Len() > 0 || len(inProcessing()) > 0 {
			checkSet(rt, s)
			m.forget(s)
			if len(m.turns) > 0 {
				want, _ := m.get()
				if item, _, _, ok := s.TryTake(); item != want || !ok { // a Get might block
					rt.Fatalf("after the shutdown, item %d was handed out (%v), not %d", item, ok, want)
				}
				continue
			}
			if len(inProcessing()) == 0 {
				pass()
				continue
			}
			in := inProcessing()[0]
			s.Done(in)
			m.done(in)
		}
		if _, shutdown := s.Get(); !shutdown {
			rt.Fatal("nothing is left, and Get does not say so")
		}
		checkSet(rt, s)
		fake.Step(time.Hour) // all buckets are full
		if sh := s.shard(0); sh.groups != nil && sh.groups.names.live != 0 {
			rt.Fatalf("%d groups are left", sh.groups.names.live)
		}
	})
}
