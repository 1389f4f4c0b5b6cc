package line

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// A model does what a Line does with lists that it searches from end to end.
type model struct {
	c          *Config
	places     bool
	entries    map[uint32]*modelEntry
	alone      *modelGroup // without groups
	groups     map[string]*modelGroup
	circles    []*modelCircle // in ascending order of priority
	throttled  []*modelGroup
	left       int64
	takes      uint32
	latest     uint64
	forgotten  uint64
	processing int32
}

type modelEntry struct {
	group    *modelGroup
	priority int
	place    uint64
}

type modelGroup struct {
	name           string
	ready          []uint32 // in the order of their adds
	levels         bool     // an item ever had another priority than 0, or a place
	ranks          []int    // the priorities of ready items, longest passed over first
	takes          uint32
	items, running int32
	asked          uint32
	weight, limit  int32
	served         int32
	bucket         *bucket
	held           blocks
	in             *modelCircle
}

type modelCircle struct {
	priority int
	groups   []*modelGroup // from the one whose turn it is
	served   uint32
}

func newModel(c *Config, places bool) *model {
	return &model{c: c, places: places, entries: map[uint32]*modelEntry{}, alone: &modelGroup{}, groups: map[string]*modelGroup{}}
}

// inOrder returns the ready entries of a group in the order in which they are
// taken, if no lower one is preferred.
func (m *model) inOrder(g *modelGroup) []uint32 {
	ids := slices.Clone(g.ready)
	slices.SortStableFunc(ids, func(a, b uint32) int {
		x, y := m.entries[a], m.entries[b]
		if !m.places {
			return cmp.Compare(y.priority, x.priority)
		}
		return cmp.Or(cmp.Compare(y.priority, x.priority), cmp.Compare(x.place, y.place))
	})
	return ids
}

func (m *model) highest(g *modelGroup) int {
	if len(g.ready) == 0 {
		return 0
	}
	return m.entries[m.inOrder(g)[0]].priority
}

func (m *model) has(g *modelGroup, priority int) bool {
	return slices.ContainsFunc(g.ready, func(id uint32) bool { return m.entries[id].priority == priority })
}

func (m *model) insert(g *modelGroup, id uint32) {
	if priority := m.entries[id].priority; !m.has(g, priority) {
		g.ranks = append(g.ranks, priority)
	}
	g.ready = append(g.ready, id)
}

func (m *model) remove(g *modelGroup, id uint32) {
	g.ready = slices.DeleteFunc(g.ready, func(other uint32) bool { return other == id })
	if priority := m.entries[id].priority; !m.has(g, priority) {
		g.ranks = slices.DeleteFunc(g.ranks, func(p int) bool { return p == priority })
	}
}

// takeFrom takes from the level that was passed over longest, every n-th time, and
// otherwise from the highest.
func (m *model) takeFrom(g *modelGroup, passedOver bool) uint32 {
	ids := m.inOrder(g)
	id := ids[0]
	if g.levels && m.c.Ranked {
		if n := m.c.LowPriorityInterval; n > 0 {
			g.takes++
			passedOver = g.takes%n == 0
		}
		if passedOver {
			i := slices.IndexFunc(ids, func(id uint32) bool { return m.entries[id].priority == g.ranks[0] })
			id = ids[i]
		}
	}
	priority := m.entries[id].priority
	if m.remove(g, id); m.has(g, priority) {
		g.ranks = append(slices.DeleteFunc(g.ranks, func(p int) bool { return p == priority }), priority)
	}
	g.running++
	m.processing++
	return id
}

func (m *model) circleOf(g *modelGroup) *modelCircle {
	priority := 0
	if m.c.PrioritiesBeforeTurns {
		priority = m.highest(g)
	}
	at, found := slices.BinarySearchFunc(m.circles, priority, func(c *modelCircle, p int) int { return cmp.Compare(c.priority, p) })
	if !found {
		m.circles = slices.Insert(m.circles, at, &modelCircle{priority: priority, served: m.takes})
	}
	return m.circles[at]
}

func (g *modelGroup) blocked() bool { return g.held != 0 || g.limit > 0 && g.running >= g.limit }

// place puts a group where it belongs after any change. changed tells whether its
// policy or its blocks may have changed: else a throttled group stays.
func (m *model) place(g *modelGroup, free bool) (freed bool) {
	isThrottled := slices.Contains(m.throttled, g)
	switch {
	case len(g.ready) == 0:
		m.out(g)
	case isThrottled && free && !g.blocked():
		m.out(g)
		m.enter(g)
		return true
	case isThrottled:
	case g.blocked():
		m.out(g)
		m.throttled = append(m.throttled, g)
	case g.in == nil:
		m.enter(g)
	case m.c.PrioritiesBeforeTurns && g.in.priority != m.highest(g):
		m.out(g)
		m.enter(g)
	}
	return false
}

func (m *model) enter(g *modelGroup) {
	g.in = m.circleOf(g)
	g.in.groups = append(g.in.groups, g)
}

func (m *model) out(g *modelGroup) {
	same := func(other *modelGroup) bool { return other == g }
	m.throttled = slices.DeleteFunc(m.throttled, same)
	if g.in != nil {
		g.served = 0
		if g.in.groups = slices.DeleteFunc(g.in.groups, same); len(g.in.groups) == 0 {
			m.circles = slices.DeleteFunc(m.circles, func(c *modelCircle) bool { return c == g.in })
		}
		g.in = nil
	}
}

func (m *model) weights() (sum int64) {
	for _, c := range m.circles {
		for _, g := range c.groups {
			sum += int64(g.weight)
		}
	}
	return sum
}

func (m *model) take(passedOver bool, now uint64, fresh bool) (uint32, Outcome) {
	if !m.c.Grouped {
		if len(m.alone.ready) == 0 {
			return 0, Nothing
		}
		return m.takeFrom(m.alone, passedOver), Took
	}
	if len(m.circles) == 0 {
		return 0, Nothing
	}
	m.left = min(m.left, m.weights())
	c := m.circles[len(m.circles)-1]
	if n := m.c.LowPriorityInterval; m.c.PrioritiesBeforeTurns {
		if m.takes++; n > 0 && m.takes%n == 0 {
			c = slices.MinFunc(m.circles, func(a, b *modelCircle) int { return cmp.Compare(m.takes-b.served, m.takes-a.served) })
		}
		c.served = m.takes
	}
	g := c.groups[0]
	if g.bucket != nil && !m.spend(g, now, fresh) {
		m.place(g, false)
		return 0, NoToken
	}
	id := m.takeFrom(g, false)
	m.place(g, false)
	if g.in == c {
		if g.served++; g.served >= g.weight {
			g.served, c.groups = 0, append(c.groups[1:], g)
		}
	}
	if m.left--; m.left > 0 {
		return id, TurnGoesOn
	}
	m.left = m.weights()
	return id, TurnOver
}

func (m *model) spend(g *modelGroup, now uint64, fresh bool) (ok bool) {
	b := g.bucket
	b.adopt(now)
	if b.full == 0 && m.forgotten > now {
		b.full = m.forgotten
	}
	if ok = b.rate.Opens(b.full) <= now; !ok && !fresh {
		return false
	}
	if m.latest = now; ok && b.rate.Limits() {
		b.full = b.rate.Spend(b.full, now, m.c.Tick)
	}
	if b.review = b.rate.Opens(b.full); b.review > now {
		g.held |= noToken
	} else {
		b.review = cmp.Or(g.wait(now), b.review)
	}
	return ok
}

func (m *model) configure(g *modelGroup, to Tag) {
	if to.Weight == 0 || to.Asked < g.asked {
		return
	}
	g.weight, g.limit, g.asked = to.Weight, to.Limit, to.Asked
	if g.limit > 0 && g.running >= g.limit {
		m.place(g, false)
	}
	if g.bucket != nil || to.Rate.Limits() {
		g.needBucket().wanted = to.Rate
	}
}

func (g *modelGroup) needBucket() *bucket {
	if g.bucket == nil {
		g.bucket = &bucket{}
	}
	return g.bucket
}

func (m *model) review(g *modelGroup, now uint64) (freed bool) {
	m.latest = now
	if b := g.bucket; b != nil {
		b.adopt(now)
		if g.held &= outdated; b.rate.Opens(b.full) > now {
			g.held |= noToken
		}
		if b.until > now {
			g.held |= paused
		}
	}
	freed = m.place(g, true)
	m.forgetIfIdle(g)
	return freed
}

func (m *model) forgetIfIdle(g *modelGroup) {
	if g.items > 0 || g.bucket != nil && (g.held != 0 || g.bucket.full > m.latest) {
		return
	}
	if g.bucket != nil {
		m.forgotten = max(m.forgotten, g.bucket.full)
	}
	delete(m.groups, g.name)
}

// wait returns when a group has to be reviewed, or 0.
func (g *modelGroup) wait(latest uint64) (at uint64) {
	b := g.bucket
	if g.held&noToken != 0 {
		at = b.rate.Opens(b.full)
	}
	if g.held&paused != 0 {
		at = max(at, b.until)
	}
	if at == 0 && g.items == 0 && b.full > latest {
		at = b.full
	}
	return at
}

func (g *modelGroup) reason() stats.Throttling {
	switch {
	case g.held&paused != 0:
		return stats.ThrottledByPause
	case g.held&noToken != 0:
		return stats.ThrottledByRate
	}
	return stats.ThrottledByLimit
}

// A program runs on a line and its model, and compares them after each step.
type program struct {
	*rapid.T
	m       *model
	l       Line
	t       items.Table
	c       Config
	now     uint64
	ids     map[int]uint32 // by item
	ready   map[uint32]bool
	running []uint32
	held    Changes // summed up
	flat    bool    // there is one priority
	steep   bool    // there are many
	shown   shown
}

// shown is what HasChanged tells.
type shown struct {
	canTake bool
	serves  int
	wait    uint64
}

const second = 1_000_000_000

func TestLineAgainstModel(t *testing.T) {
	testscale.Rapid(3_000)
	rapid.Check(t, func(t *rapid.T) {
		p := &program{T: t, now: 1 << 62, ids: map[int]uint32{}, ready: map[uint32]bool{}, t: items.NewTable(items.TypeOf[int]())}
		places := rapid.Bool().Draw(t, "places")
		p.c = Config{
			Grouped: rapid.Bool().Draw(t, "grouped"), Names: items.TypeOf[string](), Tick: second / 1000,
			LowPriorityInterval:   uint32(rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "interval")),
			PrioritiesBeforeTurns: rapid.Bool().Draw(t, "circles"),
		}
		p.c.Ranked = p.c.LowPriorityInterval > 0 || places
		if places {
			p.t.NeedRequested()
			p.t.NeedPlaces()
		}
		p.m = newModel(&p.c, places)
		p.flat = places && rapid.Bool().Draw(t, "flat") // so that many items of a level are late
		steps := map[string]func(*rapid.T){
			"add": p.add, "add again": p.add, "take": p.take, "take again": p.take,
			"finish": p.finish, "cancel": p.cancel, "raise": p.raise, "time": p.time,
		}
		if p.c.Grouped {
			steps["pause"], steps["policy"], steps["configure"] = p.pause, p.policy, p.configure
		}
		p.steep = rapid.Bool().Draw(t, "steep")
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			p.T = t
			steps[rapid.SampledFrom(slices.Sorted(maps.Keys(steps))).Draw(t, "step")](t)
			p.compare()
		}
	})
}

func (p *program) tag(t *rapid.T) Tag {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "group")
	to := Tag{Group: name, Hash: uint32(name[0]), Asked: rapid.Uint32Range(0, 3).Draw(t, "asked")}
	if rapid.Bool().Draw(t, "policy") {
		to.Weight, to.Limit = rapid.Int32Range(1, 3).Draw(t, "weight"), rapid.Int32Range(0, 2).Draw(t, "limit")
		if rapid.Bool().Draw(t, "rated") {
			to.Rate = RateOf(stats.Rate{PerSecond: 1, Burst: rapid.IntRange(1, 2).Draw(t, "burst")})
		}
	}
	return to
}

func (p *program) priority(t *rapid.T) int {
	if p.flat {
		return 0
	} else if p.steep {
		return rapid.IntRange(-99, 99).Draw(t, "priority")
	}
	return rapid.SampledFrom([]int{0, 0, 0, -1, 1, 2}).Draw(t, "priority")
}

func (p *program) add(t *rapid.T) {
	item := rapid.IntRange(0, 9).Draw(t, "item")
	if _, known := p.ids[item]; known {
		return
	}
	to, priority := p.tag(t), p.priority(t)
	to.Outdated = rapid.IntRange(0, 3).Draw(t, "outdated") == 0
	isOutdated := to.Outdated
	_, at := p.t.Find(uint32(item), items.KeyOf(&item))
	id, _ := p.t.Insert(at, items.KeyOf(&item))
	p.ids[item], p.ready[id] = id, true
	x := &modelEntry{group: p.m.alone, priority: priority}
	if p.m.entries[id] = x; p.c.Grouped {
		p.l.Join(&p.c, &p.t, id, &to)
		if x.group = p.m.groups[to.Group]; x.group == nil {
			x.group = &modelGroup{name: to.Group}
			p.m.groups[to.Group] = x.group
		}
		if x.group.items++; x.group.weight == 0 { // new, or paused before its first item
			x.group.weight, x.group.asked = 1, to.Asked
			if isOutdated {
				x.group.held |= outdated
			}
		}
		p.m.configure(x.group, to)
	}
	if priority != 0 || p.t.Places != nil {
		p.l.NeedLevels(&p.c, &p.t, id)
		x.group.levels = true
	}
	if p.t.Requested != nil {
		p.t.Requested.SetRun(id, priority)
	}
	if p.t.Places != nil && rapid.IntRange(0, 3).Draw(t, "old place") > 0 {
		p.t.Places.Renew(id)
	}
	x.place = p.t.PlaceOf(id)
	if p.t.Places != nil && x.place == 0 {
		p.t.Places.Renew(id)
		x.place = p.t.PlaceOf(id)
	}
	if p.flat && rapid.Bool().Draw(t, "late") {
		p.add(t) // of a later place
	}
	p.l.Push(&p.t, id, p.t.At(id))
	p.m.insert(x.group, id)
	p.replace(x.group)
}

func (p *program) replace(g *modelGroup) {
	if p.c.Grouped {
		p.m.place(g, false)
	}
}

func (p *program) take(t *rapid.T) {
	passedOver := p.c.LowPriorityInterval == 0 && !p.c.Grouped && rapid.Bool().Draw(t, "passed over")
	fresh := rapid.Bool().Draw(t, "fresh")
	now := p.now
	if !fresh {
		now -= rapid.SampledFrom([]uint64{0, 0, second}).Draw(t, "old")
	}
	id, _, priority, out := p.l.Take(&p.t, passedOver, now, fresh)
	want, wantOut := p.m.take(passedOver, now, fresh)
	require.Equal(p, wantOut, out)
	if require.Equal(p, want, id); id == 0 {
		return
	}
	require.Equal(p, p.m.entries[id].priority, priority)
	p.running = append(p.running, id)
	delete(p.ready, id)
}

func (p *program) finish(t *rapid.T) {
	if len(p.running) == 0 {
		return
	}
	i := rapid.IntRange(0, len(p.running)-1).Draw(t, "i")
	id := p.running[i]
	p.running = slices.Delete(p.running, i, i+1)
	g := p.m.entries[id].group
	g.running--
	p.m.processing--
	freed := p.c.Grouped && p.m.place(g, true)
	require.Equal(p, freed, p.l.Finish(id))
	p.leave(id)
}

func (p *program) leave(id uint32) {
	if p.l.Leave(&p.t, id); p.c.Grouped {
		g := p.m.entries[id].group
		if g.items--; g.items == 0 {
			g.levels, g.ranks, g.takes = false, nil, 0
			p.m.forgetIfIdle(g)
		}
	}
	delete(p.ready, id)
	delete(p.m.entries, id)
	for item, of := range p.ids {
		if of == id {
			delete(p.ids, item)
		}
	}
	p.t.Remove(id, p.t.At(id), items.Position{})
}

func (p *program) anyReady(t *rapid.T) (id uint32, ok bool) {
	ids := slices.Sorted(maps.Keys(p.ready))
	if len(ids) == 0 {
		return 0, false
	}
	return rapid.SampledFrom(ids).Draw(t, "id"), true
}

func (p *program) cancel(t *rapid.T) {
	id, ok := p.anyReady(t)
	if !ok {
		return
	}
	p.l.Pull(&p.t, id, p.t.At(id))
	g := p.m.entries[id].group
	p.m.remove(g, id)
	p.replace(g)
	p.leave(id)
}

func (p *program) raise(t *rapid.T) {
	id, ok := p.anyReady(t)
	if !ok {
		return
	}
	x := p.m.entries[id]
	priority := x.priority + rapid.IntRange(1, 3).Draw(t, "by")
	p.l.NeedLevels(&p.c, &p.t, id)
	x.group.levels = true
	p.l.Raise(&p.t, id, p.t.At(id), priority)
	p.m.remove(x.group, id)
	x.priority, x.place = priority, p.t.PlaceOf(id)
	p.m.insert(x.group, id)
	p.replace(x.group)
}

func (p *program) time(t *rapid.T) {
	p.now += uint64(rapid.SampledFrom([]int64{0, second / 1000, second / 2, second, 5 * second, -second}).Draw(t, "elapsed"))
	for tick := p.now / p.c.Tick; p.l.FirstWait() <= tick; {
		name := p.l.groups.nameOf(p.l.groups.waiting[0])
		g := p.m.groups[name]
		require.NotNil(p, g)
		require.Equal(p, p.m.review(g, p.now), p.l.EndWaits(tick, p.now, 1))
	}
}

func (p *program) group(t *rapid.T, make bool) (of uint32, g *modelGroup, to Tag) {
	to = p.tag(t)
	of = p.l.Find(&p.c, &p.t, to.Group, to.Hash, make)
	if g = p.m.groups[to.Group]; g == nil && make {
		g = &modelGroup{name: to.Group}
		p.m.groups[to.Group] = g
	}
	require.Equal(p, of != 0, g != nil)
	return of, g, to
}

func (p *program) pause(t *rapid.T) {
	until := rapid.SampledFrom([]uint64{0, p.now + second, Never}).Draw(t, "until")
	of, g, _ := p.group(t, until > p.now)
	if of == 0 {
		return
	}
	if g.bucket != nil || until > p.now {
		g.needBucket().until = until
	}
	require.Equal(p, p.m.review(g, p.now), p.l.Pause(of, until, p.now))
}

func (p *program) policy(t *rapid.T) {
	of, g, to := p.group(t, false)
	if of == 0 {
		return
	}
	g.held &^= outdated
	p.m.configure(g, to)
	require.Equal(p, p.m.review(g, p.now), p.l.Reconfigure(of, &to, p.now))
}

func (p *program) configure(t *rapid.T) {
	id, ok := p.anyReady(t)
	if !ok {
		return
	}
	to := p.tag(t)
	p.l.Configure(id, &to)
	p.m.configure(p.m.entries[id].group, to)
}

// compare checks what the line says of itself.
func (p *program) compare() {
	order := []uint32{}
	p.l.Walk(&p.t, func(id uint32) bool { order = append(order, id); return true })
	want := []uint32{}
	byRate, byPause, first, frees := 0, 0, uint64(Never), uint64(Never)
	if p.c.Grouped {
		for _, c := range slices.Backward(p.m.circles) {
			for _, g := range c.groups {
				want = append(want, p.m.inOrder(g)...)
			}
		}
		for _, g := range p.m.throttled {
			want = append(want, p.m.inOrder(g)...)
			switch g.reason() {
			case stats.ThrottledByRate:
				byRate++
			case stats.ThrottledByPause:
				byPause++
			}
			if g.bucket != nil {
				if at := g.wait(p.m.latest); at != 0 && at != Never {
					frees = min(frees, p.c.tickAt(at))
				}
			}
		}
		require.True(p, frees == Never || p.l.Frees(frees))
		require.False(p, len(p.m.throttled) == 0 && p.l.Frees(Never-1))
		for _, g := range p.m.groups {
			if g.bucket != nil {
				if at := g.wait(p.m.latest); at != 0 && at != Never {
					first = min(first, p.c.tickAt(at))
				}
			}
		}
	} else {
		want = p.m.inOrder(p.m.alone)
	}
	require.Truef(p, slices.Equal(want, order), "%v, not %v", order, want)
	require.Equal(p, len(want), int(p.l.Depth()))
	require.Equal(p, p.m.processing, p.l.Processing())
	_, gotRate, gotPause := p.l.Counts()
	require.Equal(p, []int{byRate, byPause}, []int{gotRate, gotPause})
	now := shown{canTake: p.l.CanTake(), wait: p.l.FirstWait()}
	now.serves, _ = p.l.Serves()
	require.True(p, now == p.shown || p.l.HasChanged(), "%+v, and it was %+v", now, p.shown)
	p.shown = now
	p.l.See()
	require.True(p, !p.l.GroupsChanged() || p.c.Grouped)
	changes := p.l.Changes()
	p.held.Throttled += changes.Throttled
	p.held.Paused += changes.Paused
	require.Equal(p, []int{len(p.m.throttled), byPause}, []int{int(p.held.Throttled), int(p.held.Paused)})
	require.LessOrEqual(p, p.l.FirstWait(), first, "a review is due")
	require.Equal(p, p.c.Grouped && len(p.m.circles) > 0 || !p.c.Grouped && len(want) > 0, p.l.CanTake())
	if priority, ok := p.l.Serves(); ok && len(want) > 0 {
		require.Equal(p, p.m.highest(p.m.alone), priority)
		require.LessOrEqual(p, len(p.l.levels.byPriority), len(p.l.levels.heap)+mostIdleLevels+2, "empty levels are kept")
	}
}
