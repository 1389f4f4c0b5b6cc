package line

import (
	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

const MaxGroupWeight = 1 << 20

// A Tag is the group of an item, and its policy unless Weight is 0.
type Tag struct {
	Group         string
	Hash          uint32
	Weight, Limit int32
	Asked         uint32 // the number of refreshes that had begun when the policy was asked for
	Rate          Rate
	Outdated      bool // another refresh has begun since. A new group waits until its policy is asked for again
}

// A group has a queue of its own, and takes memory only while it has items.
type group struct {
	ready          queue
	born           uint32 // tells the group from earlier ones with the same id: see births
	items          int32  // the entries of the group
	asked          uint32 // the number of refreshes that had begun before its policy
	weight         int32
	limit          int32 // of the items in processing, or 0
	served         int32 // the items handed out in the group's turn
	phase          groupPhase
	held           blocks  // what blocks the group besides its limit
	hasBucket      bool    // whether it has a cell in groups.buckets
	next, previous uint32  // in its circle, or among the throttled groups
	in             *circle // if it is in the round robin
}

type groups struct {
	config      *Config
	names       items.Table
	states      chunked.Array[group]
	of          chunked.Array[uint32] // the group of each entry
	depth       int32                 // the ready items of all groups
	processing  int32
	births      uint32 // the groups ever made, modulo its range
	vacant      int32  // the groups without items that are remembered
	buckets     chunked.Array[bucket]
	waiting     []uint32 // groups that wait for a moment: see await
	throttledBy [4]int32 // the throttled groups by their reasons
	changes     Changes  // since they were asked for
	changed     bool     // something that others must learn: see HasChanged
	rated       bool     // a group was ever given a rate
	latest      uint64   // the last moment by which a bucket was used: the clock may be set back
	forgotten   uint64   // the latest moment at which a forgotten bucket was full
	roundRobin
}

func (g *groups) at(id uint32) *group { return chunked.At(&g.states, id) }

func (l *Line) groupOf(entry uint32) (of uint32, g *group) {
	of = *chunked.At(&l.groups.of, entry)
	return of, l.groups.at(of)
}

// Group returns the name of an entry's group, or "".
func (l *Line) Group(entry uint32) string {
	if l.groups == nil {
		return ""
	}
	return l.groups.nameOf(*chunked.At(&l.groups.of, entry))
}

func (g *groups) nameOf(id uint32) string { return *items.Of[string](g.names.At(id)) }

func (l *Line) needGroups(c *Config, t *items.Table) *groups {
	if l.groups == nil {
		g := &groups{config: c, names: items.NewTable(c.Names)}
		if g.best = &g.only; c.PrioritiesBeforeTurns {
			g.circles = &circles{byPriority: map[int]*circle{}}
		}
		items.AddColumn(t, &g.of)
		l.groups = g
	}
	return l.groups
}

// Join puts a new entry into the group of a tag, which gets the tag's policy.
// Without groups it reports false. If the group is not new, it clears
// to.Outdated.
func (l *Line) Join(c *Config, t *items.Table, id uint32, to *Tag) (joined bool) {
	if c.Grouped {
		l.join(c, t, id, to)
	}
	return c.Grouped
}

// HasTags reports whether Join reads the tag of an entry.
func (c *Config) HasTags() bool { return c.Grouped }

func (l *Line) join(c *Config, t *items.Table, id uint32, to *Tag) {
	g := l.needGroups(c, t)
	of, p := g.names.Find(to.Hash, items.KeyOf(&to.Group))
	var state *group
	isNew := of == 0
	if isNew {
		of, state = g.make(to.Group, p)
	} else if state = g.at(of); state.items == 0 {
		g.vacant--
		if isNew = state.weight == 0; isNew { // it was paused before its first item
			state.weight = 1
		}
	}
	if isNew {
		state.asked = to.Asked // whatever the count has been when it began
	}
	*chunked.Extend(&g.of, id) = of
	state.items++
	g.configure(of, state, to)
	if to.Outdated = to.Outdated && isNew; to.Outdated {
		g.setBlock(state, outdated, true)
		g.throttleIfBlocked(of, state)
	}
}

func (g *groups) make(name string, p items.Position) (of uint32, state *group) {
	of, _ = g.names.Insert(p, items.KeyOf(&name))
	state = chunked.Hold(&g.states, of)
	state.born, state.weight = g.births, 1
	g.births++
	return of, state
}

// Configure gives the group of an entry the policy that the tag to has.
func (l *Line) Configure(id uint32, to *Tag) (configured bool) {
	if l.groups == nil || to.Weight == 0 {
		return false
	}
	of, state := l.groupOf(id)
	l.groups.configure(of, state, to)
	return true
}

// configure ignores a policy that was asked for before the group's. It neither
// knows the time nor frees the group. So a greater limit counts at the next Finish,
// and another rate from the next item on: see review.
func (g *groups) configure(id uint32, state *group, to *Tag) {
	if to.Weight == 0 || int32(to.Asked-state.asked) < 0 {
		return
	}
	state.asked = to.Asked
	g.weigh(state, to.Weight)
	if state.limit = to.Limit; state.full() {
		g.throttleIfBlocked(id, state)
	}
	if state.hasBucket || to.Rate.Limits() {
		g.needBucket(id, state).wanted = to.Rate
		g.rated = g.rated || to.Rate.Limits()
	}
}

// Leave takes an entry that is about to be forgotten out of its group. A group
// without entries is forgotten, unless its pause or its tokens count.
func (l *Line) Leave(t *items.Table, id uint32) (left bool) {
	if l.groups == nil {
		return false
	}
	l.leaveGroup(t, id)
	return true
}

func (l *Line) leaveGroup(t *items.Table, id uint32) {
	if t.Requested != nil {
		t.Requested.SetRun(id, 0) // the next entry with this id may be of a group without levels
	}
	g := l.groups
	of, state := l.groupOf(id)
	if state.items--; state.items > 0 {
		return
	}
	b := g.bucketOf(of, state)
	if g.forgettable(state, b) {
		g.forget(of, state)
		return
	}
	g.vacant++
	state.ready = queue{}
	g.await(of, b, state.nextReview(b, g.latest))
}

func (g *groups) forget(of uint32, state *group) {
	if state.hasBucket {
		b := chunked.At(&g.buckets, of)
		g.forgotten = max(g.forgotten, b.full)
		g.await(of, b, Never)
		chunked.Release(&g.buckets, of)
	}
	*state = group{}
	chunked.Release(&g.states, of)
	g.names.Remove(of, g.names.At(of), items.Position{})
}

func (l *Line) IsForgotten() bool { return l.groups == nil || l.groups.names.Live == 0 }

func (l *Line) HadEnough() bool { return l.groups != nil && l.groups.names.HadEnough() }

// Find returns the id of a group, or 0 if there is none. With make, it makes
// one.
func (l *Line) Find(c *Config, t *items.Table, name string, hash uint32, make bool) (of uint32) {
	if l.groups == nil && !make {
		return 0
	}
	g := l.needGroups(c, t)
	of, p := g.names.Find(hash, items.KeyOf(&name))
	if of == 0 && make {
		var state *group
		of, state = g.make(name, p)
		state.weight = 0 // until its first item
		g.vacant++
	}
	return of
}

// Pause holds a group back until a moment.
func (l *Line) Pause(of uint32, until, now uint64) (freed bool) {
	g := l.groups
	if state := g.at(of); state.hasBucket || until > now {
		g.needBucket(of, state).until = until
	}
	return g.review(of, now)
}

// Reconfigure is Configure, and lets the policy count at once.
func (l *Line) Reconfigure(of uint32, to *Tag, now uint64) (freed bool) {
	g := l.groups
	state := g.at(of)
	g.setBlock(state, outdated, false)
	g.configure(of, state, to)
	return g.review(of, now)
}

// Counts returns how many groups have items, and how many wait for a token or
// for the end of a pause.
func (l *Line) Counts() (all, byRate, byPause int) {
	g := l.groups
	if g == nil {
		return 0, 0, 0
	}
	return int(g.names.Live - g.vacant), int(g.throttledBy[stats.ThrottledByRate]), int(g.throttledBy[stats.ThrottledByPause])
}
