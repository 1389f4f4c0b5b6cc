package shard

import "github.com/shardq/shardq/internal/chunked"

// Fair groups. If a set has groups, all items of a group are in one shard, which follows
// from the group. Each group has a FIFO of its own there, and levels if it needs them. One
// group at a time is seated: its FIFO and its levels are the shard's, so that all that is
// done with those elsewhere is done with a group's. Whoever touches an entry seats its group.
// The groups from which something may be handed out stand in a ring (ring.go), and take
// turns (fair.go).
//
// Groups are found as items are, by a table, and known by their ids: so a group costs
// memory while it has items, and no longer, and no operation costs more for their number.

// MaxGroupWeight is the greatest weight of a group.
const MaxGroupWeight = 1 << 20

// A group is what a shard knows of one.
type group struct {
	// fifo and levels are the group's unless it is seated: then they are the shard's.
	fifo fifo
	// born tells it from the others that there were: see births.
	born   uint32
	levels *levels
	// items counts the entries that belong to the group: it is forgotten with the last.
	items int32
	// processing counts those of them that are in processing.
	processing int32
	weight     int32
	// served counts what it was handed out in its turn.
	served int32
	// place says whether it takes part: see ring.
	place ringPlace
	// next and previous are its neighbours in the ring, or among those held back.
	next, previous uint32
}

// groups is what a shard keeps of them.
type groups struct {
	names  *table[string]
	states chunked.Array[group]
	// seated is the group whose FIFO and levels are the shard's; 0 if there is none, and
	// those are empty.
	seated uint32
	// elsewhere counts what is ready in the groups that are not seated.
	elsewhere int32
	// births counts the groups that there ever were, modulo its range.
	births uint32
	ring
}

func (g *groups) at(id uint32) *group { return g.states.At(id) }

// seatFor seats the group of an entry.
func (sh *shard[T]) seatFor(id uint32) { sh.seat(sh.groupOf(id)) }

// groupOf returns the id of an entry's group.
func (sh *shard[T]) groupOf(id uint32) uint32 { return *sh.table.groups.At(id) }

// seatAdded does so for an entry whose item is added again.
func (sh *shard[T]) seatAdded(id uint32, to tag) {
	sh.seatFor(id)
	if to.weight > 0 { // the caller has asked for it
		sh.groups.weigh(sh.groups.at(sh.groups.seated), to.weight)
	}
}

func (sh *shard[T]) seat(id uint32) {
	g := sh.groups
	if g.seated == id {
		return
	}
	if g.seated != 0 {
		before := g.at(g.seated)
		before.fifo, before.levels = sh.fifo, sh.levels
		g.elsewhere += sh.readyHere()
	}
	now := g.at(id)
	sh.fifo, sh.levels = now.fifo, now.levels
	now.fifo, now.levels = fifo{}, nil
	g.elsewhere -= sh.readyHere()
	g.seated = id
}

// joinGroup notes the group of a new entry, and seats it.
func (sh *shard[T]) joinGroup(id uint32, to tag) {
	sh.needGroups()
	g := sh.groups
	of, p := g.names.find(to.groupHash, to.group)
	if of == 0 {
		of, _ = g.names.insert(p, to.group)
		g.states.Hold(of).born = g.births
		g.births++
	}
	*sh.table.groups.Extend(id) = of
	state := g.at(of)
	state.items++
	g.weigh(state, to.weight)
	sh.seat(of)
}

func (sh *shard[T]) needGroups() {
	if sh.groups == nil {
		sh.groups = &groups{names: newTable[string](false)}
		sh.table.groups = &chunked.Array[uint32]{}
	}
}

// leaveGroup is called before an entry is removed. With its last entry a group is forgotten;
// nothing of it is ready then.
func (sh *shard[T]) leaveGroup(id uint32) {
	if w := sh.table.wishes; w != nil {
		w.setRun(id, 0) // the next one with this id may be of a group without levels
	}
	g, of := sh.groups, sh.groupOf(id)
	state := g.at(of)
	if state.items--; state.items > 0 {
		return
	}
	if g.seated == of {
		g.seated, sh.fifo, sh.levels = 0, fifo{}, nil
	}
	*state = group{}
	g.states.Release(of)
	g.names.remove(of, g.names.at(of), position{})
}
