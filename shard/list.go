package shard

import (
	"cmp"
	"math"
	"sort"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// list reads all items of a state. swept says that it took several holds.
func (sh *shard) list(state stats.State, rows *rows) (order []int, swept bool) {
	there := 0
	swept = sh.withLock(func() (visited int, more bool) {
		there = sh.there(state)
		visited, all := sh.first(state, math.MaxInt, func(id uint32) {
			rows.read(sh, id, len(order))
			order = append(order, len(order))
		})
		return visited, !all
	})
	if !swept {
		return order, false
	}
	l := listing{rows: rows}
	l.sweep(sh, state, there)
	switch {
	case state != stats.Ready:
		return l.byTime(), true
	case sh.set.config.Rules.KeepPlaces:
		return l.byPlace(), true
	}
	return l.inLine(), true
}

// A listing has the links of each row, which say where it was in its order.
type listing struct {
	rows  *rows
	links []link
}

type link struct {
	id, next  uint32
	at, place uint64
}

func (l *listing) sweep(sh *shard, state stats.State, there int) {
	l.reserve(there)
	sh.eachEntry(func(id uint32, e *items.Entry) {
		if stateOf(e.Phase()) == state {
			l.rows.read(sh, id, len(l.links))
			l.links = append(l.links, link{id, e.Next, sh.orderOf(id, state), sh.table.PlaceOf(id)})
		}
	}, func() (on bool) {
		l.reserve(rowsPerHold)
		return true
	})
}

// reserve takes memory while no lock is held.
func (l *listing) reserve(n int) {
	l.rows.reserve(n)
	if cap(l.links)-len(l.links) < n {
		l.links = append(make([]link, 0, 2*len(l.links)+n), l.links...)
	}
}

func (l *listing) sorted(rows []int, compare func(i, j int) int) []int {
	sort.SliceStable(rows, func(x, y int) bool { return compare(rows[x], rows[y]) < 0 })
	return rows
}

func (l *listing) all() (rows []int) {
	for i := range l.links {
		rows = append(rows, i)
	}
	return rows
}

func (l *listing) byTime() []int {
	return l.sorted(l.all(), func(i, j int) int { return cmp.Compare(l.links[i].at, l.links[j].at) })
}

func (l *listing) byPlace() []int {
	return l.sorted(l.all(), func(i, j int) int {
		return cmp.Or(l.compareLines(i, j), cmp.Compare(l.links[i].place, l.links[j].place))
	})
}

// compareLines orders by groups, and within a group by descending priorities.
func (l *listing) compareLines(i, j int) int {
	a, b := &(*l.rows)[i], &(*l.rows)[j]
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(b.Priority, a.Priority))
}

// inLine orders ready items by lines, of one priority of one group each. Of a
// broken line, the part that has been ready longest comes first.
func (l *listing) inLine() (order []int) {
	behind := l.behind()
	isBehind := make([]bool, len(behind))
	for _, next := range behind {
		if next >= 0 {
			isBehind[next] = true
		}
	}
	var heads []int
	for i := range behind {
		if !isBehind[i] {
			heads = append(heads, i)
		}
	}
	heads = l.sorted(heads, func(i, j int) int { // by the first items of the lines
		return cmp.Or(l.compareLines(i, j), cmp.Compare(l.links[i].at, l.links[j].at))
	})
	shown := isBehind
	clear(shown)
	for _, i := range append(heads, l.all()...) { // links of different times may form a circle
		for ; i >= 0 && !shown[i]; i = behind[i] {
			shown[i] = true
			order = append(order, i)
		}
	}
	return order
}

// behind returns the row behind each, or -1.
func (l *listing) behind() []int {
	if len(l.links) == 0 {
		return nil
	}
	rows := make([]int, l.links[len(l.links)-1].id+1) // 1 + the row, by id; ids rise
	for i := range l.links {
		rows[l.links[i].id] = i + 1
	}
	behind := make([]int, len(l.links))
	for i, link := range l.links {
		behind[i] = -1
		if int(link.next) >= len(rows) || rows[link.next] == 0 {
			continue
		}
		if next := rows[link.next] - 1; l.compareLines(i, next) == 0 {
			behind[i] = next
		}
	}
	return behind
}
