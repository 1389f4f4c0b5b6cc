package shard

import "github.com/shardq/shardq/internal/chunked"

// Groups. If a set has groups, all items of a group are in one shard, which
// follows from the group. Each group has a run queue of its own there, and the
// shard's own run queue is empty. A weighted round robin (roundrobin.go,
// takegroup.go) selects the group whose items are handed out.
//
// Like items, groups are found by a table and known by their ids. A group takes
// memory only while it has items, and the number of groups makes no operation
// slower.

// MaxGroupWeight is the greatest weight of a group.
const MaxGroupWeight = 1 << 20

// A group is what a shard keeps of one group.
type group[T comparable] struct {
	ready runQueue[T]
	// born tells the group from earlier ones with the same id: see births.
	born uint32
	// items counts the entries of the group. The group is forgotten with the
	// last, unless its bucket is not full or it is paused: see groupblock.go.
	items  int32
	weight int32
	// limit is the number of items that may be in processing, or 0 if there is
	// no limit.
	limit int32
	// served counts the items handed out in the group's turn.
	served int32
	// phase tells whether the group is in the round robin.
	phase groupPhase
	// held tells what blocks the group besides its limit.
	held blocks
	// hasBucket reports that the group has a cell in groups.buckets.
	hasBucket bool
	// next and previous are its neighbours in its circle, or among the
	// throttled groups.
	next, previous uint32
	// in is its circle, if it is in the round robin.
	in *circle
}

// groups is what a shard keeps of all groups.
type groups[T comparable] struct {
	names  *table[string]
	states chunked.Array[group[T]]
	// of has the group of each entry.
	of cells[uint32]
	// depth counts the ready items of all groups, and processing those in
	// processing.
	depth, processing int32
	// births counts the groups that were ever made, modulo its range.
	births uint32
	// vacant counts the groups without items that are remembered.
	vacant int32
	// buckets has the buckets of groups that have one. It is nil until there is
	// one.
	buckets *chunked.Array[groupBucket]
	// waiting has the groups that wait for a tick: see groupwait.go. filed
	// reports that the driver has to read a new deadline.
	waiting []uint32
	filed   bool
	// throttledBy counts the throttled groups by their reasons.
	throttledBy [4]int32
	// rated reports that a group was ever given a rate.
	rated bool
	// latest is the latest reading of the clock by which a bucket was used.
	latest uint64
	roundRobin
}

func (g *groups[T]) at(id uint32) *group[T] { return g.states.At(id) }

// groupOf returns the id of an entry's group.
func (sh *shard[T]) groupOf(id uint32) uint32 { return *sh.groups.of.At(id) }

// pushedInGroup is called when an entry was put into the run queue of its
// group.
func (sh *shard[T]) pushedInGroup(id uint32, becameReady bool) {
	sh.groups.depth++
	if becameReady {
		of := sh.groupOf(id)
		sh.groupBecameReady(of, sh.groups.at(of))
	} else {
		sh.followPriority(id)
	}
}

// pulledInGroup is called when an entry was taken out of that run queue.
func (sh *shard[T]) pulledInGroup(id uint32, becameEmpty bool) {
	sh.groups.depth--
	if becameEmpty {
		of := sh.groupOf(id)
		sh.groupBecameEmpty(of, sh.groups.at(of))
	} else {
		sh.followPriority(id)
	}
}

// joinGroup notes the group of a new entry.
func (sh *shard[T]) joinGroup(id uint32, to *tag) {
	sh.needGroups()
	g := sh.groups
	of, p := g.names.find(to.groupHash, to.group)
	var state *group[T]
	if of == 0 {
		of, state = sh.newGroup(to.group, p)
	} else if state = g.at(of); state.items == 0 {
		g.vacant--
		state.weight = max(1, state.weight) // 0: it was paused before its first item
	}
	*g.of.Extend(id) = of
	if state.items++; to.weight > 0 {
		sh.configure(of, state, to)
	}
}

// newGroup makes a group without items.
func (sh *shard[T]) newGroup(name string, p position) (of uint32, state *group[T]) {
	g := sh.groups
	of, _ = g.names.insert(p, name)
	state = g.states.Hold(of)
	state.born, state.weight = g.births, 1
	g.births++
	return of, state
}

// configureAdded is configure for the group of an entry whose item is added
// again.
func (sh *shard[T]) configureAdded(id uint32, to *tag) {
	if to.weight > 0 {
		of := sh.groupOf(id)
		sh.configure(of, sh.groups.at(of), to)
	}
}

func (sh *shard[T]) needGroups() {
	if sh.groups == nil {
		sh.groups = &groups[T]{names: newTable[string]()}
		if sh.groups.best = &sh.groups.only; sh.set.rules.PrioritiesBeforeTurns {
			sh.groups.circles = &circles{byPriority: map[int]*circle{}}
		}
		sh.table.addColumn(&sh.groups.of)
	}
}

// leaveGroup is called before an entry is removed. The group is forgotten with
// its last entry, or once its bucket is full and it is not paused. It has no
// ready items then.
func (sh *shard[T]) leaveGroup(id uint32) {
	if w := sh.table.requested; w != nil {
		w.setRun(id, 0) // the next entry with this id may be of a group without levels
	}
	g, of := sh.groups, sh.groupOf(id)
	state := g.at(of)
	if state.items--; state.items > 0 {
		return
	}
	b := g.bucketOf(of, state)
	if sh.forgettable(state, b) {
		sh.forgetGroup(of, state)
		return
	}
	g.vacant++
	state.ready = runQueue[T]{}
	sh.await(of, b, sh.nextReview(state, b, g.latest))
}

// forgetGroup forgets a group without items.
func (sh *shard[T]) forgetGroup(of uint32, state *group[T]) {
	g := sh.groups
	if state.hasBucket {
		sh.await(of, g.buckets.At(of), never)
		g.buckets.Release(of)
	}
	*state = group[T]{}
	g.states.Release(of)
	g.names.remove(of, g.names.at(of), position{})
}
