package shard

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// Items yields the items in a state, shard by shard, with no lock held: each
// that stays in the state, and none twice.
func (s *Set[T]) Items(state stats.State) iter.Seq[stats.Item[T]] {
	return func(yield func(stats.Item[T]) bool) {
		for sh := range s.Core.shards.made() {
			l := s.listIn(sh, state)
			for i := range l.rows {
				if l.order != nil {
					i = int(l.order[i])
				}
				if !yield(l.rows[i]) {
					return
				}
			}
		}
	}
}

func (s *Set[T]) listIn(sh *shard, state stats.State) (l listing[T]) {
	there := 0
	more := sh.withLock(func() (visited int, more bool) {
		there = sh.there(state)
		visited, all := s.first(sh, &l.rows, state, math.MaxInt)
		return visited, !all
	})
	if more {
		l.sweep(s, sh, state, there)
	}
	switch {
	case state != stats.Ready:
		l.rows = firstOf(l.rows, len(l.rows))
	case more && s.Core.config.Rules.KeepPlaces:
		l.order = l.byPlace()
	case more:
		l.order = l.inLine()
	}
	return l
}

type listing[T comparable] struct {
	rows  []stats.Item[T]
	links []link  // of each row, for the order of ready items
	order []int32 // of the rows, or nil if they are in order
}

type link struct {
	id, next uint32
	place    uint64
}

// sweep lists each item once. One that was added again has another id.
func (l *listing[T]) sweep(s *Set[T], sh *shard, state stats.State, there int) {
	l.rows, l.links = make([]stats.Item[T], 0, there), make([]link, 0, there)
	known := make(map[T]struct{}, there)
	var rows []stats.Item[T]
	var links []link
	sh.eachEntry(func(id uint32, e *items.Entry) {
		if stateOf(e.Phase()) == state {
			rows, links = append(rows, s.info(sh, id)), append(links, link{id, e.Next, sh.table.PlaceOf(id)})
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

func (l *listing[T]) byPlace() (order []int32) {
	for i := range l.rows {
		order = append(order, int32(i))
	}
	sort.Slice(order, func(x, y int) bool {
		i, j := order[x], order[y]
		a, b := &l.rows[i], &l.rows[j]
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(b.Priority, a.Priority),
			cmp.Compare(l.links[i].place, l.links[j].place)) < 0
	})
	return order
}

// inLine orders ready items by lines, of one priority of one group each. Of a
// broken line, the part that has been ready longest comes first.
func (l *listing[T]) inLine() (order []int32) {
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
	sort.SliceStable(heads, func(x, y int) bool { // by the first items of the lines
		a, b := &l.rows[heads[x]], &l.rows[heads[y]]
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(b.Priority, a.Priority), a.Since.Compare(b.Since)) < 0
	})
	for i := range l.rows { // links of different times may form a circle
		heads = append(heads, int32(i))
	}
	shown := isBehind
	clear(shown)
	for _, i := range heads {
		for ; i >= 0 && !shown[i]; i = behind[i] {
			shown[i] = true
			order = append(order, i)
		}
	}
	return order
}

func (l *listing[T]) behind() []int32 {
	if len(l.rows) == 0 {
		return nil
	}
	places := make([]int32, l.links[len(l.links)-1].id+1) // 1 + the row, by id; ids rise
	for i := range l.links {
		places[l.links[i].id] = int32(i) + 1
	}
	behind := make([]int32, len(l.rows))
	for i, link := range l.links {
		behind[i] = -1
		if int(link.next) >= len(places) || places[link.next] == 0 {
			continue
		}
		next := places[link.next] - 1
		if a, b := &l.rows[i], &l.rows[next]; a.Priority == b.Priority && a.Group == b.Group {
			behind[i] = next
		}
	}
	return behind
}

// Left returns all that the set holds, each item once, in no order.
func (s *Set[T]) Left() (rows []stats.Item[T]) {
	var some []stats.Item[T]
	for sh := range s.Core.shards.made() {
		sh.eachEntry(func(id uint32, _ *items.Entry) { some = append(some, s.info(sh, id)) }, func() (on bool) {
			rows = append(rows, some...) // with no lock held, because it may copy all rows
			some = some[:0]
			return true
		})
	}
	return rows
}

const mostInspected = 1 << 16

// TimeLeft returns the times left of the running delays, to the tick.
func (s *Core) TimeLeft() (h stats.Histogram) {
	var sample stats.Sample
	for sh := range s.shards.made() {
		now := s.time.Nanoseconds()
		delayed := sh.inspectDeadlines(func(tick uint64) { sample.Add(s.time.Left(now, tick)) })
		sample.AddTo(&h, delayed)
		sample.Reset()
	}
	return h
}

// inspectDeadlines returns the number of delayed items. If they are too many,
// it inspects one chunk, at random, of each run of neighbors. Chunks at even
// distances might all be of one burst, random ones from all favor one half.
func (sh *shard) inspectDeadlines(add func(tick uint64)) (delayed int) {
	chunks, ticks := 0, []uint64{}
	sh.withLock(func() (visited int, more bool) {
		if sh.wheel != nil {
			chunks, delayed = sh.wheel.Chunks(), sh.wheel.Len()
		}
		return 0, false
	})
	width := max(1, float64(delayed)/mostInspected)
	for begin := 0.0; begin < float64(chunks); begin += width {
		sh.withLock(func() (visited int, more bool) {
			if ticks = ticks[:0]; sh.wheel != nil {
				ticks = sh.wheel.Deadlines(int(begin+width*rand.Float64()), ticks)
			}
			return len(ticks), false
		})
		for _, tick := range ticks {
			add(tick)
		}
	}
	return delayed
}
