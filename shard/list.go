package shard

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// Items returns an iterator over the items in a state. It goes from shard to shard,
// and copies the items of one before it yields them; no lock is held then. Of a shard
// with few items in the state it shows one moment. Others it reads in holds of the
// lock of at most rowsPerHold items: it misses no item of the shard that stays in the
// state, and shows none twice.
//
// Within a shard, ready items come in their order (those of a group, if there are
// groups, and one group after the other), as far as they stay where they are; those
// in processing the longest first if the queue keeps ages; and those that wait by
// their deadlines.
func (s *Set[T]) Items(state State) iter.Seq[Info[T]] {
	return func(yield func(Info[T]) bool) {
		for sh := range s.made() {
			for row := range sh.list(state) {
				if !yield(*row) {
					return
				}
			}
		}
	}
}

// list copies the shard's items in a state, and yields them in order.
func (sh *shard[T]) list(state State) iter.Seq[*Info[T]] {
	var l listing[T]
	there := 0
	more := sh.look(func() (visited int, more bool) {
		there = sh.there(state)
		visited, all := sh.first(&l.rows, state, math.MaxInt)
		return visited, !all
	})
	if more {
		l.sweep(sh, state, there)
	}
	if state != Ready {
		l.rows = firstOf(l.rows, len(l.rows))
	} else if more {
		return l.inLine
	}
	return l.asTheyAre
}

// A listing has all items of a state.
type listing[T comparable] struct {
	rows []Info[T]
	// links has the links of as many entries, by which those that are ready stand in
	// lines.
	links []link
}

// A link is an entry's id, and that of the entry behind it in its line, if it is
// ready.
type link struct{ id, next uint32 }

// sweep lists the items of a shard. An item that was forgotten and came back has
// another id, and is met again: it is listed once. There are about so many.
func (l *listing[T]) sweep(sh *shard[T], state State, there int) {
	l.rows, l.links = make([]Info[T], 0, there), make([]link, 0, there)
	known := make(map[T]struct{}, there)
	var rows []Info[T]
	var links []link
	sh.eachEntry(func(id uint32, e *entry[T]) {
		if e.phase().state() == state {
			rows, links = append(rows, sh.info(id)), append(links, link{id, e.next})
		}
	}, func() (on bool) {
		for i := range rows {
			if _, again := known[rows[i].Item]; !again {
				known[rows[i].Item] = struct{}{}
				l.rows, l.links = append(l.rows, rows[i]), append(l.links, links[i])
			}
		}
		rows, links = rows[:0], links[:0]
		return true
	})
}

func (l *listing[T]) asTheyAre(yield func(*Info[T]) bool) {
	for i := range l.rows {
		if !yield(&l.rows[i]) {
			return
		}
	}
}

// inLine yields ready items line by line: there is one for each priority of each
// group. The links were read in several holds of the lock: what changed between them
// may have broken a line into several, of which the longest ready comes first.
func (l *listing[T]) inLine(yield func(*Info[T]) bool) {
	behind := l.behind()
	isBehind := make([]bool, len(l.rows))
	for _, next := range behind {
		if next >= 0 {
			isBehind[next] = true
		}
	}
	var heads []int32
	for i := range l.rows {
		if !isBehind[i] {
			heads = append(heads, int32(i))
		}
	}
	slices.SortStableFunc(heads, func(a, b int32) int { return compareLines(&l.rows[a], &l.rows[b]) })
	for i := range l.rows { // links of different times may go round
		heads = append(heads, int32(i))
	}
	shown := isBehind
	clear(shown)
	for _, i := range heads {
		for ; i >= 0 && !shown[i]; i = behind[i] {
			shown[i] = true
			if !yield(&l.rows[i]) {
				return
			}
		}
	}
}

// behind returns for each row the one behind it in its line, or -1.
func (l *listing[T]) behind() []int32 {
	if len(l.rows) == 0 {
		return nil
	}
	places := make([]int32, l.links[len(l.links)-1].id+1) // by id, which rise; 1 more than the place
	for i := range l.links {
		places[l.links[i].id] = int32(i) + 1
	}
	behind := make([]int32, len(l.rows))
	for i, link := range l.links {
		behind[i] = -1
		if int(link.next) < len(places) {
			if next := places[link.next] - 1; next >= 0 && sameLine(&l.rows[i], &l.rows[next]) {
				behind[i] = next
			}
		}
	}
	return behind
}

func sameLine[T comparable](a, b *Info[T]) bool {
	return a.Priority == b.Priority && a.Group == b.Group
}

// compareLines orders lines by the items that stand first.
func compareLines[T comparable](a, b *Info[T]) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(b.Priority, a.Priority), a.Since.Compare(b.Since))
}
