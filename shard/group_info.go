package shard

import (
	"iter"

	"github.com/shardq/shardq/internal/least"
)

// GroupInfo is what a queue knows of a group.
type GroupInfo struct {
	// Group is its name.
	Group string
	// Held is how many of its items the queue holds, Ready how many of them are ready, and
	// Processing how many are in processing. The others wait.
	Held, Ready, Processing int
	// Weight is how many of its items are handed out in its turn.
	Weight int
	// HeldBack: it has something ready, and as much in processing as the limit allows.
	HeldBack bool
	// Shard is the number of its shard.
	Shard int
}

// Groups returns an iterator over the groups that have items, in no order. It goes from
// shard to shard, as [Set.Items] does.
func (s *Set[T]) Groups() iter.Seq[GroupInfo] {
	return func(yield func(GroupInfo) bool) {
		var rows []GroupInfo
		for i := range s.shards {
			rows = s.shards[i].listGroups(rows[:0])
			for _, row := range rows {
				if !yield(row) {
					return
				}
			}
		}
	}
}

func (sh *shard[T]) listGroups(rows []GroupInfo) []GroupInfo {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.groups != nil {
		for id := range sh.groups.names.ids() {
			rows = append(rows, sh.groupInfo(id))
		}
	}
	return rows
}

func (sh *shard[T]) groupInfo(id uint32) GroupInfo {
	g := sh.groups
	state := g.at(id)
	ready := state.ready()
	if id == g.seated {
		ready = sh.readyHere()
	}
	return GroupInfo{
		Group: g.names.at(id).item,
		Held:  int(state.items), Ready: int(ready), Processing: int(state.processing),
		Weight:   int(state.weight),
		HeldBack: state.place == heldBack,
		Shard:    int(sh.number),
	}
}

// firstGroups returns the groups that have the items that have been ready longest, so many
// at most: so those items are among the first of theirs. Without ages it is any.
func (sh *shard[T]) firstGroups(limit int) []uint32 {
	first := least.New[uint32](limit)
	for id := range sh.groups.inOrder() {
		since := uint64(0) // all are alike
		if sh.set.ages {
			f, _ := sh.readyOf(id)
			since = *sh.table.since.At(f.head)
		}
		first.Add(since, id)
	}
	return first.Values()
}

// readyOf returns where the ready items of a group are.
func (sh *shard[T]) readyOf(id uint32) (*fifo, *levels) {
	if id == sh.groups.seated {
		return &sh.fifo, sh.levels
	}
	state := sh.groups.at(id)
	return &state.fifo, state.levels
}

// walkGroup visits the ready items of a group.
func (sh *shard[T]) walkGroup(id uint32, visit func(id uint32) bool) (on bool) {
	f, l := sh.readyOf(id)
	return sh.table.walkLevels(f, l, visit)
}

// ready returns what is ready in a group that is not seated.
func (g *group) ready() int32 {
	if g.levels == nil {
		return g.fifo.length
	}
	return g.fifo.length + g.levels.ready
}

// inOrder returns the groups that have something ready: those in the ring in the order of
// their turns, and then those that are held back.
func (g *groups) inOrder() iter.Seq[uint32] {
	return func(yield func(id uint32) bool) {
		if !g.goRound(yield) {
			return
		}
		for id := range g.names.ids() {
			if g.at(id).place == heldBack && !yield(id) {
				return
			}
		}
	}
}

// goRound visits the groups in the ring.
func (g *groups) goRound(visit func(id uint32) bool) (on bool) {
	for id := g.turn; id != 0; {
		if !visit(id) {
			return false
		}
		if id = g.at(id).next; id == g.turn {
			break
		}
	}
	return true
}
