package shard

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Items yields the items in a state, shard by shard, with no lock held: each
// that stays in the state, and none twice.
func (s *Core) Items(state stats.State) iter.Seq[stats.Item[any]] {
	return func(yield func(stats.Item[any]) bool) {
		for sh := range s.shards.made() {
			if !sh.list(state, yield) {
				return
			}
		}
	}
}

// list reads all items of a state, in one hold if they are few.
func (sh *shard) list(state stats.State, yield func(stats.Item[any]) bool) (on bool) {
	var few []stats.Item[any]
	there := 0
	if many := sh.withLock(func() (visited int, more bool) {
		there = sh.there(state)
		visited, all := sh.first(state, math.MaxInt, func(id uint32) { few = append(few, sh.row(id)) })
		return visited, !all
	}); !many {
		return !slices.ContainsFunc(few, func(row stats.Item[any]) bool { return !yield(row) })
	}
	l := sh.sweepState(state, there)
	known := make(map[any]struct{}, len(l))
	for _, i := range l.order(state, sh.set.config.Rules.KeepPlaces) {
		if isNew(known, &l[i].row) && !yield(l[i].row) {
			return false
		}
	}
	return true
}

// A listing has the rows by rising ids, with links that say where each was in its
// order.
type listing []link

type link struct {
	id, next  uint32
	at, place uint64
	row       stats.Item[any]
}

func (sh *shard) sweepState(state stats.State, there int) (l listing) {
	l = make(listing, 0, there)
	sh.eachEntry(func(id uint32, e *items.Entry) {
		if stateOf(e.Phase()) == state {
			l = append(l, link{id, e.Next, sh.orderOf(id, state), sh.table.PlaceOf(id), sh.row(id)})
		}
	}, func() {
		l = slices.Grow(l, rowsPerHold) // while no lock is held
	})
	return l
}

func (l listing) order(state stats.State, byPlace bool) []int {
	all := make([]int, len(l))
	for i := range all {
		all[i] = i
	}
	switch {
	case state != stats.Ready:
		slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(l[i].at, l[j].at) })
	case byPlace:
		slices.SortStableFunc(all, func(i, j int) int {
			return cmp.Or(l.compareLines(i, j), cmp.Compare(l[i].place, l[j].place))
		})
	default:
		return l.inLine(all)
	}
	return all
}

// compareLines orders by groups, and within a group by descending priorities.
func (l listing) compareLines(i, j int) int {
	a, b := &l[i].row, &l[j].row
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(b.Priority, a.Priority))
}

// inLine orders ready items by lines, of one priority of one group each. Of a
// broken line, the part that has been ready longest comes first.
func (l listing) inLine(all []int) (order []int) {
	behind := l.behind()
	isBehind := make([]bool, len(behind))
	for _, next := range behind {
		if next >= 0 {
			isBehind[next] = true
		}
	}
	heads := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return isBehind[i] })
	slices.SortStableFunc(heads, func(i, j int) int { // by the first items of the lines
		return cmp.Or(l.compareLines(i, j), cmp.Compare(l[i].at, l[j].at))
	})
	shown := isBehind
	clear(shown)
	for _, i := range append(heads, all...) { // links of different times may form a circle
		for ; i >= 0 && !shown[i]; i = behind[i] {
			shown[i] = true
			order = append(order, i)
		}
	}
	return order
}

// behind returns, for each row, the row behind it in its line, or -1.
func (l listing) behind() []int {
	if len(l) == 0 {
		return nil
	}
	rows := make([]int, l[len(l)-1].id+1) // 1 + the row, by id; ids rise
	for i := range l {
		rows[l[i].id] = i + 1
	}
	behind := make([]int, len(l))
	for i := range l {
		next := l[i].next
		behind[i] = -1
		if int(next) >= len(rows) || rows[next] == 0 {
			continue
		}
		if row := rows[next] - 1; l.compareLines(i, row) == 0 {
			behind[i] = row
		}
	}
	return behind
}
